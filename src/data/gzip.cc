#include "data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr int kGzipWindow = 15 + 16;  // zlib: largest window, gzip framing
constexpr std::size_t kMemberOverhead = 18;

const Hint kAgain{"fetch the file again; 'gzip -t FILE' tells whether a copy is whole"};

// zlib needs mutable pointers and 32-bit counts.
Bytef* input_pointer(std::string_view bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
}
uInt piece(std::size_t n) { return static_cast<uInt>(std::min<std::size_t>(n, 1u << 30)); }

class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, kGzipWindow) != Z_OK) fail("zlib cannot start: {}", message());
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  z_stream* operator->() { return &stream_; }
  int step() { return ::inflate(&stream_, Z_NO_FLUSH); }
  void next_member() { inflateReset(&stream_); }
  std::string_view message() const { return stream_.msg != nullptr ? stream_.msg : "no reason given"; }

 private:
  z_stream stream_{};
};

// The last four bytes hold the size modulo 2^32: exact for ordinary files, and only a first guess here.
std::size_t guess_size(std::string_view bytes, std::size_t limit) {
  std::size_t size = 0;
  for (std::size_t i = 0; i < 4; ++i)
    size |= std::size_t{static_cast<unsigned char>(bytes[bytes.size() - 4 + i])} << (8 * i);
  return std::min({size, limit, bytes.size() * 1032});  // deflate compresses at most 1032 to 1
}

}  // namespace

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

std::string gunzip(std::string_view bytes, std::string_view where, std::int64_t limit) {
  if (!is_gzip(bytes)) reject(kAgain, "{} is not a gzip file", where);
  if (bytes.size() < kMemberOverhead)
    reject(kAgain, "{} is a truncated gzip file: {} bytes", where, bytes.size());
  const auto most = static_cast<std::size_t>(limit);
  std::string out(guess_size(bytes, most) + 1, '\0');  // with the spare byte a correct guess needs one pass
  Inflater inflater;
  std::size_t used = 0, made = 0;
  for (;;) {
    if (made > most) reject(kAgain, "{} inflates to more than {}", where, human_bytes(double(limit)));
    if (made == out.size()) out.resize(std::min(most + 1, 2 * out.size() + 4096));
    inflater->next_in = input_pointer(bytes.substr(used));
    inflater->avail_in = piece(bytes.size() - used);
    inflater->next_out = reinterpret_cast<Bytef*>(out.data() + made);
    inflater->avail_out = piece(out.size() - made);
    const uInt offered = inflater->avail_in, room = inflater->avail_out;
    const int status = inflater.step();
    used += offered - inflater->avail_in;
    made += room - inflater->avail_out;
    if (status == Z_STREAM_END) {
      if (used == bytes.size()) break;
      if (!is_gzip(bytes.substr(used)))
        reject(kAgain, "{} has {} bytes after the end of its gzip data", where, bytes.size() - used);
      inflater.next_member();
    } else if (status == Z_MEM_ERROR) {
      fail("out of memory inflating {}", where);
    } else if (status == Z_OK || status == Z_BUF_ERROR) {
      if (used == bytes.size() && made < out.size())
        reject(kAgain, "{} is a truncated gzip file: it ends within its data, after {} bytes", where,
               bytes.size());
    } else {
      reject(kAgain, "{} is a corrupt gzip file: {} (near byte {})", where, inflater.message(), used);
    }
  }
  if (made > most) reject(kAgain, "{} inflates to more than {}", where, human_bytes(double(limit)));
  out.resize(made);
  return out;
}

std::string gunzip_start(std::string_view bytes, std::size_t count) {
  std::string out(count, '\0');
  Inflater inflater;
  inflater->next_in = input_pointer(bytes);
  inflater->avail_in = piece(bytes.size());
  inflater->next_out = reinterpret_cast<Bytef*>(out.data());
  inflater->avail_out = piece(count);
  inflater.step();
  out.resize(count - inflater->avail_out);
  return out;
}

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    fail("zlib cannot start");
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    deflateEnd(&stream);
    fail("gzip of {} bytes in one piece", bytes.size());
  }
  std::string out(deflateBound(&stream, static_cast<uLong>(bytes.size())), '\0');
  stream.next_in = input_pointer(bytes);
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (status != Z_STREAM_END) fail("zlib did not finish: status {}", status);
  return out;
}

}  // namespace headroom
