#include "ops/tally/tally.h"

#include <cmath>

#include "ops/expect.h"

namespace headroom {
namespace tally_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (in.size() != 2 && in.size() != 3)
    reject("tally takes loss, correct and sums, not {} inputs", in.size());
  for (const TensorType& type : in) {
    expect_float("tally", type);
    if (&type != &in.back() && type.shape.numel() != 1)
      reject("tally adds up scalars, not {}", type.shape.str());
  }
  expect_same("tally, its sums", in.back(), {{std::int64_t{kTallyFields}}, DType::f64});
  if (attrs.integer("count", 1) < 1) reject("tally: a step of {} images", attrs.integer("count"));
  return {in.back()};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = 4;
  return c;
}

Launcher reference(const Problem& p, const LaunchContext&) {
  const auto read = [](const LaunchArgs& a, std::size_t i, DType dtype) {
    return dispatch_float(dtype, [&]<class T>() { return static_cast<double>(a.in<T>(i)[0]); });
  };
  return [read, p, count = double(p.attrs.integer("count", 1))](const LaunchArgs& a) {
    const double loss = read(a, 0, p.inputs[0].dtype);
    double* sums = a.out<double>(0);
    sums[kTallyLoss] += loss * count;
    if (p.inputs.size() == 3) sums[kTallyCorrect] += read(a, 1, p.inputs[1].dtype);
    sums[kTallySteps] += 1;
    if (sums[kTallySteps] == 1) sums[kTallyFirstLoss] = loss;
    sums[kTallyLastLoss] = loss;
    if (!std::isfinite(loss) && sums[kTallyBadStep] == 0)
      sums[kTallyBadStep] = sums[kTallySteps], sums[kTallyBadLoss] = loss;
  };
}

}  // namespace
}  // namespace tally_cc

std::vector<Operator> tally_operators() {
  using namespace tally_cc;
  const Shape sums{std::int64_t{kTallyFields}};
  const std::vector<std::optional<DType>> wide = {std::nullopt, DType::f64},
                                          both = {std::nullopt, DType::f64, DType::f64};
  return {{.schema = {.name = "tally",
                      .infer = infer,
                      .cost = cost,
                      .aliases = [](const Problem& p) { return std::vector<int>{int(p.inputs.size()) - 1}; },
                      .keeps_fp32 = {0, 1}},
           .kernels = {{.name = "cuda:thread",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_tally_cuda)},
                       {.name = "reference", .prepare = reference}},
           .cases = {{.tier = Tier::ci,
                      .inputs = {{1}, sums},
                      .fills = {{}, {Fill::Kind::constant, 3}},
                      .dtypes = wide},
                     {.tier = Tier::ci,
                      .inputs = {{1}, {1}, sums},
                      .attrs = {{"count", std::int64_t{64}}},
                      .fills = {{}, {Fill::Kind::digit, 64}, {Fill::Kind::constant, 0}},
                      .dtypes = both}},
           .exact = true}};
}

}  // namespace headroom
