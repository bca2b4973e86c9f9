#pragma once

// Small pictures made without the libraries that read them.

#include <zlib.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::testing {

inline std::string big_endian_word(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  return bytes;
}

inline std::string png_chunk(const std::string& kind, const std::string& data) {
  const std::string summed = kind + data;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size()));
  return big_endian_word(static_cast<std::uint32_t>(data.size())) + summed +
         big_endian_word(static_cast<std::uint32_t>(sum));
}

// Interleaved bytes of 1 (grey), 2 (grey, alpha), 3 (RGB) or 4 (RGB, alpha) channels.
inline std::string png(int rows, int columns, int channels, const std::vector<std::uint8_t>& pixels) {
  std::string lines;
  const auto width = static_cast<std::size_t>(columns * channels);
  for (int r = 0; r < rows; ++r) {
    lines += '\0';  // no filter
    const auto first = pixels.begin() + static_cast<std::ptrdiff_t>(width) * r;
    lines.append(first, first + static_cast<std::ptrdiff_t>(width));
  }
  std::string packed(::compressBound(lines.size()), '\0');
  uLongf length = packed.size();
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &length, reinterpret_cast<const Bytef*>(lines.data()),
             lines.size());
  packed.resize(length);
  constexpr char kColourTypes[] = {0, 0, 4, 2, 6};
  std::string header = big_endian_word(static_cast<std::uint32_t>(columns));
  header = header.insert(4, big_endian_word(static_cast<std::uint32_t>(rows)));
  header += std::string{8, kColourTypes[channels], 0, 0, 0};
  return std::string("\x89PNG\r\n\x1a\n", 8) + png_chunk("IHDR", header) + png_chunk("IDAT", packed) +
         png_chunk("IEND", "");
}

inline std::string grey_png(int rows, int columns, int value) {
  return png(
      rows, columns, 1,
      std::vector<std::uint8_t>(static_cast<std::size_t>(rows * columns), static_cast<std::uint8_t>(value)));
}

inline std::string from_hex(std::string_view digits) {
  auto value = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1]));
  return bytes;
}

// Grey, 6 rows of 10: column c is about 20 + 20 c.
inline std::string grey_jpeg() {
  return from_hex(
      "ffd8ffdb00430002010101010102010101020202020204030202020205040403040605060606050606060709080607090706"
      "06080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affc0000b080006000a01011100ffc40015000101000000000000000000"
      "00000000000809ffc4001e100001010900000000000000000000000000010304050935457482b2ffda0008010100003f0033"
      "ca4ad9a16ba074573c567ca1ffd9");
}

// 8x8: red about 200, green 40 in the upper half and 160 in the lower, blue 60.
inline std::string colour_jpeg() {
  return from_hex(
      "ffd8ffdb00430002010101010102010101020202020204030202020205040403040605060606050606060709080607090706"
      "06080b08090a0a0a0a0a06080b0c0b0a0c090a0a0affdb004301020202020202050303050a0706070a0a0a0a0a0a0a0a0a0a"
      "0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0affc00011080008000803"
      "011100021101031101ffc40014000100000000000000000000000000000004ffc40018100002030000000000000000000000"
      "0000001967a5e3ffc40014010100000000000000000000000000000008ffc4001a1100020203000000000000000000000000"
      "001764a2a3e2e3ffda000c03010002110311003f002afe96a8770d6c98b7d06a36e164e67fffd9");
}

}  // namespace headroom::testing
