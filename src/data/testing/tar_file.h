#pragma once

#include <fmt/format.h>

#include <string>

namespace headroom::testing {

// One member of an archive in the ustar format, header and padding included.
inline std::string tar_entry(const std::string& name, const std::string& bytes, char kind = '0') {
  std::string header(512, '\0');
  auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  put(0, name);
  put(100, "0000644");
  put(124, fmt::format("{:011o}", bytes.size()));
  put(148, "        ");
  header[156] = kind;
  put(257, "ustar");
  put(263, "00");
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  return header + bytes + std::string((512 - bytes.size() % 512) % 512, '\0');
}

inline std::string tar_end() { return std::string(1024, '\0'); }

}  // namespace headroom::testing
