#include "ops/local_contrast_norm/local_contrast_norm.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

const OpSchema& schema() { return schema_of("local_contrast_norm"); }

TEST(LocalContrastNorm, KeepsTheShapeAndCostsTwoSeparableWindows) {
  const TensorType x{{2, 3, 8, 8}, DType::f32};
  const Attrs attrs{{"kernel", std::int64_t{5}}};
  const Problem p{
      .op = "local_contrast_norm", .inputs = {x}, .outputs = schema().infer({x}, attrs), .attrs = attrs};
  EXPECT_EQ(p.outputs, std::vector<TensorType>{x});
  EXPECT_EQ(schema().cost(p).multiply_add, 128 * 2 * 2 * 2 * 5 + 2 * 384);
  EXPECT_EQ(schema().cost(p).bytes(), 2 * 4 * 384);
}

TEST(LocalContrastNorm, RejectsBadRequests) {
  EXPECT_THROW(schema().infer({{{2, 3, 8}, DType::f32}}, {}), Error);
  EXPECT_THROW(schema().infer({{{2, 3, 8, 8}, DType::i32}}, {}), Error);
  EXPECT_THROW(schema().infer({{{2, 3, 8, 8}, DType::f32}}, {{"kernel", std::int64_t{4}}}), Error);
}

}  // namespace
}  // namespace headroom
