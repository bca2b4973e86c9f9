#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/testing/bad_input.h"
#include "ops/fp16_parts/fp16_parts.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace fp16_parts_test {

Problem parts_of(std::int64_t rows, std::int64_t columns, std::int64_t parts) {
  return problem_of(operator_of("fp16_parts"),
                    {.inputs = {{rows, columns}}, .attrs = {{"parts", parts}}, .dtypes = {DType::f32}},
                    DType::f32);
}

// The references in fp64, and what the GPU of this machine computes, where there is one.
std::vector<std::vector<Values>> by_all(const Problem& p, const std::vector<Values>& inputs) {
  std::vector<std::vector<Values>> all = {
      run_kernel(reference_of(operator_of(p.op)), widened(p), inputs).outputs};
  if (test_gpu() != nullptr)
    for (const Kernel& kernel : operator_of(p.op).kernels)
      if (kernel.device == DeviceKind::cuda && accepts(kernel, p, test_gpu()->capabilities()).ok)
        all.push_back(run_kernel(kernel, p, inputs).outputs);
  return all;
}

Values some_numbers(std::size_t count, double size, double spread) {
  const Philox random(5, 1);
  Values x(count);
  for (std::size_t i = 0; i < count; ++i)
    x[i] = double(float(size * random.normal(i) * std::exp2(-spread * random.uniform(i + count))));
  return x;
}

TEST(CudaParts, AddUpToTheMatrix) {
  for (const double size : {1.0, 1e-30, 1e30, 3e-39})
    for (const double spread : {0.0, 15.0}) {
      const std::int64_t rows = 9, columns = 13, ld = 16;
      const Values x = some_numbers(std::size_t(rows * columns), size, spread);
      double largest = 0;
      for (const double v : x) largest = std::max(largest, std::abs(v));
      for (const auto& out : by_all(parts_of(rows, columns, 2), {x})) {
        EXPECT_EQ(out[1][1], 1);
        EXPECT_EQ(out[1][2], 2);
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < ld; ++c) {
            const auto at = std::size_t(r * ld + c);
            const double sum = (out[0][at] + out[0][at + std::size_t(rows * ld)]) * out[1][0];
            const double want = c < columns ? x[std::size_t(r * columns + c)] : 0;
            EXPECT_NEAR(sum, want, 0x1p-22 * std::abs(want) + 0x1p-39 * largest) << size << " " << spread;
          }
      }
    }
}

TEST(CudaParts, PixelsAndShortNumbersNeedOne) {
  Values pixels, shorts, neither;
  for (int i = 0; i < 256; ++i) {
    pixels.push_back(double(float(i) / 255.0f));
    shorts.push_back(std::ldexp(i - 100, -7));
    neither.push_back(pixels.back());
  }
  neither[3] = double(0.7f);
  for (const auto& out : by_all(parts_of(16, 16, 2), {pixels})) {
    EXPECT_EQ(out[1][1], 255);
    EXPECT_EQ(out[1][2], 1);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      EXPECT_NEAR(out[0][i] * out[1][0] / out[1][1], pixels[i], 0x1p-23 * pixels[i]);
      EXPECT_EQ(out[0][i + 256], 0);
    }
  }
  for (const auto& out : by_all(parts_of(16, 16, 2), {shorts})) {
    EXPECT_EQ(out[1][1], 1);
    EXPECT_EQ(out[1][2], 1);
    for (std::size_t i = 0; i < shorts.size(); ++i) EXPECT_EQ(out[0][i] * out[1][0], shorts[i]);
  }
  for (const auto& out : by_all(parts_of(16, 16, 2), {neither})) EXPECT_EQ(out[1][2], 2);
  for (const auto& out : by_all(parts_of(16, 16, 1), {neither})) EXPECT_EQ(out[1][2], 1);
}

TEST(CudaParts, InfinitiesAndNanStayWhereTheyAre) {
  Values x(64, 0.3);
  for (double& v : x) v = double(float(v));
  x[5] = INFINITY, x[6] = NAN;
  for (const auto& out : by_all(parts_of(8, 8, 2), {x})) {
    EXPECT_LT(out[1][0], 1);
    EXPECT_TRUE(std::isinf(out[0][5]));
    EXPECT_TRUE(std::isnan(out[0][6]));
    EXPECT_NEAR((out[0][7] + out[0][64 + 7]) * out[1][0], x[7], 1e-7);
  }
}

// The head's gradient in parts is its gradient.
TEST(CudaParts, OfAClassifiersHead) {
  for (const auto& [rows, inputs, classes] : {std::array<std::int64_t, 3>{300, 100, 10}, {37, 603, 16}}) {
    Case c{.inputs = {{rows, inputs}, {classes, inputs}, {classes}, {rows}},
           .attrs = {{"activation_grad", std::string("sigmoid")}},
           .fills = {{Fill::Kind::positive}, {}, {}, {Fill::Kind::label, double(classes)}}};
    const Problem plain = problem_of(operator_of("classifier_head"), c, DType::f32);
    c.attrs.set("parts", std::int64_t{2});
    const Problem split = problem_of(operator_of("classifier_head"), c, DType::f32);
    const auto inputs_of_both = inputs_of(plain, c, Numbers::normal, 4);
    const auto want = by_all(plain, inputs_of_both), got = by_all(split, inputs_of_both);
    ASSERT_EQ(want.size(), got.size());
    const std::int64_t ld = (inputs + 7) / 8 * 8;
    for (std::size_t k = 0; k < want.size(); ++k) {
      double largest = 0;
      for (const double v : want[k][2]) largest = std::max(largest, std::abs(v));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < ld; ++i) {
          const auto at = std::size_t(r * ld + i);
          const double sum = (got[k][2][at] + got[k][2][at + std::size_t(rows * ld)]) * got[k][6][0];
          const double dz = i < inputs ? want[k][2][std::size_t(r * inputs + i)] : 0;
          ASSERT_NEAR(sum, dz, 0x1p-21 * std::abs(dz) + 0x1p-30 * largest) << r << " " << i;
        }
      EXPECT_EQ(got[k][3], want[k][3]) << "the other outputs do not change";
    }
  }
}

TEST(Parts, ProductsOfThemAreExact) {
  const std::int64_t m = 11, n = 7, k = 40;
  const Values a = some_numbers(std::size_t(m * k), 3, 4), b = some_numbers(std::size_t(k * n), 1e-5, 4);
  const auto parts = [](const Values& x, std::int64_t rows, std::int64_t columns) {
    return run_kernel(reference_of(operator_of("fp16_parts")), widened(parts_of(rows, columns, 2)), {x})
        .outputs;
  };
  const auto pa = parts(a, m, k), pb = parts(b, k, n);
  const Case c{.inputs = {{2, m, 40}, {4}, {2, k, 8}, {4}},
               .attrs = {{"k", k}, {"shape", std::vector<std::int64_t>{m, n}}},
               .dtypes = {DType::f16, DType::f32, DType::f16, DType::f32}};
  const Problem p = problem_of(operator_of("parts_product"), c, DType::f32);
  const Values got =
      run_kernel(reference_of(operator_of("parts_product")), widened(p), {pa[0], pa[1], pb[0], pb[1]})
          .outputs[0];
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double want = 0, size = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double term = a[std::size_t(i * k + l)] * b[std::size_t(l * n + j)];
        want += term, size += std::abs(term);
      }
      EXPECT_NEAR(got[std::size_t(i * n + j)], want, 0x1p-20 * size);
    }
}

TEST(Parts, ShapesMustFit) {
  const auto infer = [](std::vector<TensorType> in, Attrs attrs) {
    return operator_of("parts_product").schema.infer(in, attrs);
  };
  const TensorType a{{2, 5, 16}, DType::f16}, b{{1, 7, 16}, DType::f16}, s{{4}, DType::f32};
  const Attrs attrs{
      {"k", std::int64_t{13}}, {"shape", std::vector<std::int64_t>{5, 7}}, {"trans_b", std::int64_t{1}}};
  EXPECT_EQ(infer({a, s, b, s}, attrs)[0].shape, (Shape{5, 7}));
  expect_rejected([&] { infer({a, s, b}, attrs); }, {"parts_product", "3"});
  expect_rejected([&] { infer({b, s, a, s}, attrs); }, {"parts_product", "5 x 13"});
  expect_rejected([&] { infer({a, s, b, s, {{5}, DType::f32}}, attrs); }, {"bias"});
  expect_rejected(
      [&] {
        infer({a, s, b, s}, {{"k", std::int64_t{0}}, {"shape", std::vector<std::int64_t>{5, 7}}});
      },
      {"0 terms"});
  expect_rejected([] { parts_of(3, 3, 3); }, {"fp16_parts", "3"});
  expect_rejected([&] { operator_of("fp16_parts").schema.infer({s, s, s}, {}); }, {"fp16_parts", "3"});
}

}  // namespace fp16_parts_test
}  // namespace headroom::testing
