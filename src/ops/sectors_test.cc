#include "ops/sectors.h"

#include <gtest/gtest.h>

namespace headroom {
namespace sectors_test {

TEST(Sectors, OfARunDependOnWhereItBegins) {
  EXPECT_EQ(touched_bytes(128, 128), 128);
  EXPECT_EQ(touched_bytes(100, 32), 128) << "the last sector is whole";
  EXPECT_EQ(touched_bytes(128, 16), 144) << "half of the runs touch a fifth sector";
  // Places 0, 4, … 28 in a sector: one run of eight touches four sectors, the others five.
  EXPECT_EQ(touched_bytes(128, 4), (1 * 4 + 7 * 5) * 32 / 8.0);
}

TEST(Sectors, OfARowAreThoseOfItsChunks) {
  EXPECT_EQ(chunked_bytes(64, 32, 4, 256), 256);
  EXPECT_EQ(chunked_bytes(67, 32, 4, 67 * 4), 2 * 156 + 12 + 28);
}

}  // namespace sectors_test
}  // namespace headroom
