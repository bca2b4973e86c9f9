#include "base/shape.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

TEST(Shape, CountsAndPrints) {
  const Shape shape{128, 3, 224, 224};
  EXPECT_EQ(shape.rank(), 4);
  EXPECT_EQ(shape.numel(), 128 * 3 * 224 * 224);
  EXPECT_EQ(shape.str(), "128x3x224x224");
  EXPECT_EQ(shape.without_first().str(), "3x224x224");
  EXPECT_EQ(shape.vector(), (std::vector<std::int64_t>{128, 3, 224, 224}));
}

TEST(Shape, AScalarHasOneElement) {
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.str(), "scalar");
  EXPECT_EQ(Shape{5}.without_first(), Shape{});
  EXPECT_EQ(Shape{}.without_first(), Shape{});
  EXPECT_EQ((Shape{3, 0, 2}.numel()), 0);
}

TEST(Shape, ComparesRankAndExtents) {
  EXPECT_EQ((Shape{2, 3}), (Shape{2, 3}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  EXPECT_NE((Shape{2, 3}), (Shape{2, 3, 1}));
  EXPECT_NE((Shape{1}), Shape{});
  Shape changed{2, 3};
  changed[1] = 4;
  EXPECT_EQ(changed, (Shape{2, 4}));
}

TEST(Shape, HoldsEightDimensionsAndNoMore) {
  EXPECT_EQ(Shape(std::vector<std::int64_t>(8, 2)).numel(), 256);
  testing::expect_rejected([] { Shape(std::vector<std::int64_t>(9, 1)); }, {"9 dimensions", "8"});
}

TEST(TensorType, CountsBytes) {
  EXPECT_EQ((TensorType{{2, 3}, DType::f64}.bytes()), 48);
  EXPECT_EQ((TensorType{{2, 3}, DType::bf16}.bytes()), 12);
  EXPECT_NE((TensorType{{2, 3}, DType::f16}), (TensorType{{2, 3}, DType::bf16}));
}

struct Known {
  DType dtype;
  const char* name;
  std::size_t size;
  double roundoff;
};

TEST(DType, TableOfNamesSizesAndRoundings) {
  const Known known[] = {{DType::f64, "fp64", 8, 0x1p-53}, {DType::f32, "fp32", 4, 0x1p-24},
                         {DType::f16, "fp16", 2, 0x1p-11}, {DType::bf16, "bf16", 2, 0x1p-8},
                         {DType::i64, "int64", 8, 0},      {DType::i32, "int32", 4, 0},
                         {DType::u8, "uint8", 1, 0},       {DType::boolean, "bool", 1, 0}};
  for (const Known& k : known) {
    EXPECT_EQ(name_of(k.dtype), k.name);
    EXPECT_EQ(parse_dtype(k.name), k.dtype);
    EXPECT_EQ(size_of(k.dtype), k.size) << k.name;
    EXPECT_EQ(unit_roundoff(k.dtype), k.roundoff) << k.name;
    EXPECT_EQ(is_float(k.dtype), k.roundoff > 0) << k.name;
  }
  EXPECT_EQ(parse_dtype("float"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
}

TEST(DType, RoundoffIsTheCompilersHalfEpsilon) {
  EXPECT_EQ(unit_roundoff(dtype_of<float>()), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(dtype_of<double>()), std::numeric_limits<double>::epsilon() / 2);
}

TEST(DType, DispatchesWhatTheCpuComputesIn) {
  const auto size = []<class T>() { return sizeof(T); };
  EXPECT_EQ(dispatch_float(DType::f64, size), 8u);
  EXPECT_EQ(dispatch_float(DType::f32, size), 4u);
  EXPECT_THROW(dispatch_float(DType::bf16, size), Error);
}

}  // namespace
}  // namespace headroom
