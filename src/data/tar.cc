#include "data/tar.h"

#include <algorithm>
#include <cstdint>

#include "base/error.h"

namespace headroom {
namespace {

constexpr std::size_t kBlock = 512;
const Hint kFetchArchiveAgain{"fetch the archive again"};

// Text up to its first zero.
std::string text(std::string_view header, std::size_t at, std::size_t length) {
  const std::string_view field = header.substr(at, length);
  return std::string(field.substr(0, field.find('\0')));
}

// Octal digits between spaces and zeros; -1 for anything else.
std::int64_t octal(std::string_view header, std::size_t at, std::size_t length) {
  std::int64_t value = 0;
  bool any = false;
  for (const char c : header.substr(at, length)) {
    if (c == ' ' && !any) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return -1;
    value = value * 8 + (c - '0');
    any = true;
  }
  return any ? value : -1;
}

// The sum of all bytes, with the checksum field counted as spaces.
std::int64_t sum_of(std::string_view header) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kBlock; ++i)
    sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  return sum;
}

}  // namespace

std::vector<TarEntry> read_tar(std::string_view archive, std::string_view where) {
  std::vector<TarEntry> entries;
  for (std::size_t at = 0;;) {
    if (archive.size() - at < kBlock)
      reject(kFetchArchiveAgain, "{} is a truncated archive: it ends at byte {} without its closing block",
             where, archive.size());
    const std::string_view header = archive.substr(at, kBlock);
    if (std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; })) return entries;
    if (octal(header, 148, 8) != sum_of(header))
      reject(kFetchArchiveAgain,
             "{} is not a tar archive, or it is damaged: the header at byte {} has a wrong sum", where, at);
    const std::int64_t size = octal(header, 124, 12);
    at += kBlock;
    if (size < 0 || static_cast<std::uint64_t>(size) > archive.size() - at)
      reject(kFetchArchiveAgain, "{} is a truncated archive: '{}' goes beyond its end", where,
             text(header, 0, 100));
    const std::string prefix = text(header, 257, 5) == "ustar" ? text(header, 345, 155) : "";
    const std::string name = (prefix.empty() ? "" : prefix + "/") + text(header, 0, 100);
    const char kind = header[156];
    const auto length = static_cast<std::size_t>(size);
    if (kind == '0' || kind == '\0') entries.push_back({name, archive.substr(at, length)});
    at += std::min((length + kBlock - 1) / kBlock * kBlock, archive.size() - at);
  }
}

}  // namespace headroom
