#include "data/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace headroom::testing {
namespace {

// The sums of the standard: RFC 3720, appendix B.4; and of nine digits, as catalogues of CRCs list it.
TEST(Crc32c, IsThatOfTheStandard) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  std::string rising, falling;
  for (int i = 0; i < 32; ++i) rising += static_cast<char>(i), falling += static_cast<char>(31 - i);
  EXPECT_EQ(crc32c(rising), 0x46DD794Eu);
  EXPECT_EQ(crc32c(falling), 0x113FDB5Cu);
}

TEST(Checksum, IsThatOfZlib) { EXPECT_EQ(checksum("123456789"), 0xCBF43926u); }

}  // namespace
}  // namespace headroom::testing
