#include "data/download.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

#ifdef HEADROOM_HAS_CURL
#include "data/curl_library.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CURL

namespace {

constexpr long kConnectSeconds = 20, kSilentSeconds = 60, kPartial = 206, kBeyondTheEnd = 416;

// The growing file, and what the library reports about the answer. The library is C: no exception may pass
// through its frames.
struct Transfer {
  CURL* curl = nullptr;
  int file = -1;
  std::int64_t before = 0;  // bytes in `part` at the start
  std::int64_t received = 0, limit = 0;
  bool begun = false;
  std::string trouble;
  const DownloadProgress* progress = nullptr;

  ~Transfer() {
    if (file >= 0) ::close(file);
    if (curl != nullptr) curl_library().cleanup(curl);
  }
  bool too_long() const { return before + received > limit; }
  long status() const {
    long code = 0;
    curl_library().info(curl, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }
};

std::size_t write_piece(char* bytes, std::size_t, std::size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  // A server without range support sends the whole file: start again.
  if (!transfer.begun && transfer.before > 0 && transfer.status() != kPartial) {
    transfer.before = 0;
    if (::ftruncate(transfer.file, 0) != 0) transfer.trouble = std::strerror(errno);
  }
  transfer.begun = true;
  transfer.received += static_cast<std::int64_t>(count);
  if (transfer.too_long()) return 0;
  for (std::size_t done = 0; done < count && transfer.trouble.empty();) {
    const ssize_t n = ::write(transfer.file, bytes + done, count - done);
    if (n < 0 && errno != EINTR) transfer.trouble = std::strerror(errno);
    if (n > 0) done += static_cast<std::size_t>(n);
  }
  return transfer.trouble.empty() ? count : 0;
}

int show_progress(void* context, curl_off_t of, curl_off_t done, curl_off_t, curl_off_t) {
  const auto& transfer = *static_cast<Transfer*>(context);
  try {
    if (*transfer.progress) (*transfer.progress)(transfer.before + done, of > 0 ? transfer.before + of : 0);
  } catch (...) {
    return 1;
  }
  return 0;
}

void set_up(Transfer& transfer, const std::string& url) {
  const auto set = [&](CURLoption option, auto value) { curl_library().set(transfer.curl, option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_USERAGENT, "headroom");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 8L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kSilentSeconds);
  set(CURLOPT_MAXFILESIZE_LARGE, static_cast<curl_off_t>(transfer.limit));
  set(CURLOPT_WRITEFUNCTION, write_piece);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, show_progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  if (transfer.before > 0) set(CURLOPT_RANGE, fmt::format("{}-", transfer.before).c_str());
}

}  // namespace

bool can_download() { return curl_library().why_not.empty(); }

void download(const std::string& url, const std::filesystem::path& part, std::int64_t limit,
              const DownloadProgress& progress) {
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    reject(Hint{"an address starts with http:// or https://"}, "'{}' is not a download address", url);
  const CurlLibrary& curl = curl_library();
  if (!curl.why_not.empty()) fail("{} cannot be fetched: {}", url, curl.why_not);
  Transfer transfer;
  transfer.progress = &progress;
  transfer.curl = curl.init();
  if (transfer.curl == nullptr) fail("libcurl cannot start");
  transfer.file = ::open(part.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (transfer.file < 0) reject("cannot write {}: {}", part.string(), std::strerror(errno));
  transfer.before = ::lseek(transfer.file, 0, SEEK_END);
  transfer.limit = limit;
  // More than the whole file cannot be its beginning.
  if (transfer.before > limit && ::ftruncate(transfer.file, 0) == 0) transfer.before = 0;
  set_up(transfer, url);
  const CURLcode code = curl.perform(transfer.curl);
  if (code == CURLE_OK) return;
  if (!transfer.trouble.empty()) fail("cannot write {}: {}", part.string(), transfer.trouble);
  if (code == CURLE_FILESIZE_EXCEEDED || transfer.too_long()) {
    ::unlink(part.c_str());
    reject(Hint{"name another source with `mirror`"}, "{} is longer than {} bytes, so it is not that file",
           url, limit);
  }
  const long status = transfer.status();
  // The whole file is already here; its checksum will verify it.
  if (code == CURLE_HTTP_RETURNED_ERROR && status == kBeyondTheEnd && transfer.before > 0) return;
  if (code == CURLE_HTTP_RETURNED_ERROR) fail("{} was refused: the server answers {}", url, status);
  fail("{} could not be fetched: {}", url, curl.text(code));
}

#else

bool can_download() { return false; }

void download(const std::string& url, const std::filesystem::path&, std::int64_t, const DownloadProgress&) {
  fail("{} cannot be fetched: this program was built without libcurl", url);
}

#endif

}  // namespace headroom
