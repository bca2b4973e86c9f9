#include "data/checksum.h"

#include <zlib.h>

#include <array>

namespace headroom {
namespace {

// What the lowest byte of a sum adds to the others.
constexpr std::array<std::uint32_t, 256> crc32c_table() {
  constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, lowest bit first
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t sum = i;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    table[i] = sum;
  }
  return table;
}

}  // namespace

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // for a null address zlib returns the initial value
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksum_of(const Dataset& data) {
  std::uint32_t sum = 0;
  auto add = [&](const auto& list) {
    sum = checksum({reinterpret_cast<const char*>(list.data()), list.size() * sizeof(*list.data())}, sum);
  };
  for (const Split* split : {&data.train, &data.test})
    add(split->pixels), add(split->labels), add(split->values), add(split->text);
  return sum;
}

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc32c_table();
  std::uint32_t sum = ~std::uint32_t{0};
  for (const char c : bytes) sum = kTable[(sum ^ static_cast<unsigned char>(c)) & 0xFF] ^ (sum >> 8);
  return ~sum;
}

}  // namespace headroom
