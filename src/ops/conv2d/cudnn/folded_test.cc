// Folded and padded problems give what the plain one gives, by the reference; copies are whole and read
// nothing outside.
#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/conv2d/cudnn/cudnn.h"
#include "ops/conv2d/cudnn/folded.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace conv2d_cudnn_folded_test {

using Ints = std::vector<std::int64_t>;

// Between NCHW and NHWC.
Values transposed(const Shape& s, const Values& values, bool to_nhwc) {
  Values result;
  result.reserve(values.size());
  const std::int64_t channels = s[1], plane = s[2] * s[3];
  const std::int64_t outer = to_nhwc ? plane : channels, inner = to_nhwc ? channels : plane;
  for (std::int64_t n = 0; n < s[0]; ++n)
    for (std::int64_t a = 0; a < outer; ++a)
      for (std::int64_t b = 0; b < inner; ++b)
        result.push_back(values.at(static_cast<std::size_t>((n * inner + b) * outer + a)));
  return result;
}

// As the kernels go about it.
template <class Visit>
void for_each_element(const cuda::Folding& f, int vector, Visit visit) {
  std::size_t at = 0;
  for (unsigned i = 0; i < f.vectors(vector); ++i) {
    cuda::FoldedPlace place(f, i, vector);
    for (int k = 0; k < vector; ++k, place.next()) visit(at++, place.source());
  }
}

Values fold(const cuda::Folding& f, int vector, const Shape& from, const Shape& to, const Values& values) {
  const Values images = transposed(from, values, true);
  Values copy;
  for_each_element(f, vector, [&](std::size_t, std::int64_t source) {
    copy.push_back(source < 0 ? 0 : images.at(static_cast<std::size_t>(source)));
  });
  EXPECT_EQ(std::ssize(copy), to.numel());
  return transposed(to, copy, false);
}

Values unfold(const cuda::Folding& f, int vector, const Shape& from, const Shape& to, const Values& values) {
  const Values copy = transposed(from, values, true);
  Values images(static_cast<std::size_t>(to.numel()));
  std::vector<int> written(images.size());
  for_each_element(f, vector, [&](std::size_t at, std::int64_t source) {
    if (source < 0) return;
    images.at(static_cast<std::size_t>(source)) = copy.at(at);
    ++written.at(static_cast<std::size_t>(source));
  });
  for (const int times : written) EXPECT_EQ(times, 1);
  return transposed(to, images, false);
}

// How many candidates there are.
std::size_t expect_same(const char* name, const Case& c, DType dtype) {
  const Operator& op = operator_of(name);
  const Problem problem = in_nhwc(problem_of(op, c, dtype));
  SCOPED_TRACE(problem.str());
  const bool weight = problem.op == "conv2d_grad_weight";
  const auto inputs = inputs_of(problem, c, Numbers::small_integers, 5);
  const Values want = run_kernel(reference_of(op), widened(problem), inputs).outputs[0];
  const Target gpu(Capabilities{.kind = DeviceKind::cuda});
  const int vector = 16 / static_cast<int>(size_of(dtype));
  const auto list = conv2d_folded(problem, gpu);
  for (const FoldedConv2d& folded : list) {
    SCOPED_TRACE(folded.name);
    const Problem& p = folded.problem;
    EXPECT_EQ(op.schema.infer(p.inputs, p.attrs).at(0).shape, p.outputs[0].shape);
    EXPECT_TRUE(conv2d_folded(p, gpu).empty()) << "copied again";
    const Shape narrow = (weight ? problem.outputs[0] : problem.inputs[1]).shape,
                wide = folded.filter_type().shape;
    auto wider = inputs;
    wider[0] = fold(folded.image, vector, problem.inputs[0].shape, p.inputs[0].shape, inputs[0]);
    if (!weight) wider[1] = fold(folded.filters, vector, narrow, wide, inputs[1]);
    Values got = run_kernel(reference_of(op), widened(p), wider).outputs[0];
    if (weight) got = unfold(folded.filters, vector, wide, narrow, got);
    EXPECT_EQ(got, want);
  }
  return list.size();
}

TEST(FoldedConvolution, IsThePlainOne) {
  const Philox random(11, 1);
  std::uint64_t drawn = 0;
  const auto draw = [&](std::uint64_t below) {
    return static_cast<std::int64_t>(random.below(drawn++, below));
  };
  std::size_t candidates = 0;
  for (int i = 0; i < 300; ++i) {
    const std::int64_t channels = 1 + draw(7), kh = 1 + draw(7), kw = 1 + draw(7), ph = draw(4), pw = draw(4);
    const Shape x{1 + draw(3), channels, kh + draw(12), kw + draw(12)}, w{1 + draw(4), channels, kh, kw};
    Attrs attrs{{"strides", Ints{1 + draw(5), 1 + draw(5)}}, {"pads", Ints{ph, pw, ph, pw}}};
    const DType dtype = i % 2 == 0 ? DType::f32 : DType::bf16;
    candidates += expect_same("conv2d", {.inputs = {x, w, {w[0]}}, .attrs = attrs}, dtype);
    const Shape y = infer_conv2d({{x, dtype}, {w, dtype}}, attrs).at(0).shape;
    attrs.set("weight_shape", w.vector());
    candidates += expect_same("conv2d_grad_weight", {.inputs = {x, y}, .attrs = attrs}, dtype);
  }
  EXPECT_GT(candidates, 800U);  // of 600 problems
}

TEST(FoldedConvolution, TakesTheFirstLayersOfNetworks) {
  const Target gpu(Capabilities{.kind = DeviceKind::cuda});
  const auto problem = [](const Shape& x, const Shape& w, std::int64_t stride, std::int64_t pad) {
    const Attrs attrs{{"strides", Ints{stride, stride}}, {"pads", Ints{pad, pad, pad, pad}}};
    return in_nhwc(problem_of(operator_of("conv2d"), {.inputs = {x, w}, .attrs = attrs}, DType::f32));
  };
  const Problem first = problem({128, 3, 224, 224}, {64, 3, 11, 11}, 4, 2);
  const auto list = conv2d_folded(first, gpu);
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].problem.inputs[0].shape, (Shape{128, 4, 224, 224}));
  EXPECT_EQ(list[1].problem.inputs[0].shape, (Shape{128, 48, 57, 57}));
  EXPECT_EQ(list[1].problem.inputs[1].shape, (Shape{64, 48, 3, 3}));
  for (const FoldedConv2d& folded : list)
    EXPECT_GE(cudnn_workspace(first, gpu), folded_workspace(folded, gpu));
  EXPECT_EQ(conv2d_folded(problem({8, 3, 32, 32}, {16, 3, 3, 3}, 1, 1), gpu).size(), 1U);
  EXPECT_TRUE(conv2d_folded(problem({8, 64, 56, 56}, {64, 64, 3, 3}, 2, 1), gpu).empty());
  Target repeats = gpu;
  repeats.policy.deterministic = true;
  EXPECT_TRUE(conv2d_folded(first, repeats).empty());
}

}  // namespace conv2d_cudnn_folded_test
}  // namespace headroom::testing
