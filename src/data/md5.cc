#include "data/md5.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace headroom {
namespace {

// RFC 1321. The constants are the sines of integers, as the RFC defines them.
class Digest {
 public:
  void add(std::string_view bytes) {
    length_ += bytes.size();
    for (const char c : bytes) {
      block_[filled_++] = static_cast<std::uint8_t>(c);
      if (filled_ == block_.size()) mix();
    }
  }

  std::string finish() {
    const std::uint64_t bits = 8 * length_;
    std::string tail("\x80");
    while ((length_ + tail.size()) % 64 != 56) tail += '\0';
    for (int shift = 0; shift < 64; shift += 8) tail += static_cast<char>(bits >> shift & 0xFF);
    add(tail);
    std::string text;
    for (const std::uint32_t word : state_)
      for (int shift = 0; shift < 32; shift += 8) text += fmt::format("{:02x}", word >> shift & 0xFF);
    return text;
  }

 private:
  static const std::array<std::uint32_t, 64>& sines() {
    static const auto kSines = [] {
      std::array<std::uint32_t, 64> values{};
      for (std::size_t i = 0; i < 64; ++i)
        values[i] = static_cast<std::uint32_t>(std::abs(std::sin(double(i + 1))) * 4294967296.0);
      return values;
    }();
    return kSines;
  }

  std::uint32_t word(std::size_t i) const {
    return block_[4 * i] | std::uint32_t{block_[4 * i + 1]} << 8 | std::uint32_t{block_[4 * i + 2]} << 16 |
           std::uint32_t{block_[4 * i + 3]} << 24;
  }

  void mix() {
    static constexpr int kTurns[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    const auto& sine = sines();
    auto [a, b, c, d] = state_;
    for (std::size_t i = 0; i < 64; ++i) {
      const std::size_t round = i / 16;
      std::uint32_t f = 0;
      std::size_t which = i;
      if (round == 0) f = (b & c) | (~b & d);
      if (round == 1) f = (d & b) | (~d & c), which = (5 * i + 1) % 16;
      if (round == 2) f = b ^ c ^ d, which = (3 * i + 5) % 16;
      if (round == 3) f = c ^ (b | ~d), which = 7 * i % 16;
      const std::uint32_t turned = std::rotl(a + f + sine[i] + word(which), kTurns[round][i % 4]);
      a = d, d = c, c = b, b += turned;
    }
    state_ = {state_[0] + a, state_[1] + b, state_[2] + c, state_[3] + d};
    filled_ = 0;
  }

  std::array<std::uint32_t, 4> state_ = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476};
  std::array<std::uint8_t, 64> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace

std::string md5(std::string_view bytes) {
  Digest digest;
  digest.add(bytes);
  return digest.finish();
}

std::string md5_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) reject("cannot read {}", path.string());
  Digest digest;
  std::vector<char> piece(1 << 20);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    digest.add({piece.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (file.bad()) fail("cannot read {} to its end", path.string());
  return digest.finish();
}

}  // namespace headroom
