#include "ops/cross_entropy/cross_entropy.h"
#include "ops/softmax/cuda/row_split.h"

namespace headroom {
namespace cross_entropy_kernels_cc {
namespace {

// The loss of each block's rows.
std::size_t workspace_cuda(const Problem& problem, const Target&) {
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  return static_cast<std::size_t>(row_split(p.classes).blocks(p.rows)) * sizeof(double);
}

// A row that neither shared memory nor the first cache holds comes through L2 three times: for its largest
// value, for the sum, and for the result.
Work work_cuda(const Problem& problem, const Target& target) {
  constexpr double kFirstCache = 256 << 10;
  Work work = least_work(problem, target);
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  const auto all = static_cast<double>(problem.inputs[0].bytes());
  if (all / double(p.rows) > kFirstCache) work.main().l2_bytes = work.bytes() + 2 * all;
  return work;
}

}  // namespace
}  // namespace cross_entropy_kernels_cc

std::vector<Operator> cross_entropy_operators() {
  using namespace cross_entropy_kernels_cc;
  std::vector<Case> forward, backward;
  auto add = [&](Tier tier, std::int64_t rows, std::int64_t classes, Attrs attrs,
                 std::optional<DType> label_type) {
    const Fill label{Fill::Kind::label, static_cast<double>(classes)};
    forward.push_back({.tier = tier,
                       .inputs = {{rows, classes}, {rows}},
                       .attrs = attrs,
                       .fills = {{}, label},
                       .dtypes = {std::nullopt, label_type}});
    if (attrs.has("correct")) return;
    backward.push_back({.tier = tier,
                        .inputs = {{1}, {rows, classes}, {rows}},
                        .attrs = attrs,
                        .fills = {{}, {Fill::Kind::positive}, label},
                        .dtypes = {std::nullopt, std::nullopt, label_type}});
  };
  add(Tier::ci, 1, 1, {}, {});
  add(Tier::ci, 1, 10, {}, {});
  add(Tier::ci, 17, 10, {}, {});
  add(Tier::ci, 33, 7, {{"global_batch", std::int64_t{100}}}, {});
  add(Tier::ci, 64, 10, {}, DType::i64);
  add(Tier::ci, 5, 1000, {}, {});
  add(Tier::ci, 9, 16, {}, {});
  add(Tier::ci, 5, 50, {}, {});
  const Attrs counted{{"correct", std::int64_t{1}}};
  add(Tier::smoke, 3000, 10, {}, {});
  add(Tier::smoke, 1, 1, counted, {});
  add(Tier::smoke, 1000, 10, counted, {});
  add(Tier::smoke, 300, 3, counted, DType::i64);
  add(Tier::smoke, 70, 200, counted, {});
  add(Tier::smoke, 5, 2003, counted, {});
  add(Tier::smoke, 300, 200, {}, {});
  add(Tier::smoke, 21, 400, {}, {});
  add(Tier::smoke, 4, 60001, {}, {});
  add(Tier::smoke, 40, 1003, {{"global_batch", std::int64_t{160}}}, DType::i64);
  return {
      {.schema = cross_entropy_schema(),
       .kernels = {{.name = "cuda:rows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .work = work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_cross_entropy_cuda),
                    .workspace = workspace_cuda,
                    .shares_counter = true},
                   {.name = "cpu:blocks",
                    .prepare = cross_entropy_blocks,
                    .workspace = cross_entropy_workspace},
                   {.name = "reference", .prepare = cross_entropy_reference}},
       .cases = forward,
       .sum_length = [](const Problem& p) { return static_cast<double>(cross_entropy_problem(p).classes); }},
      {.schema = cross_entropy_grad_schema(),
       .kernels = {{.name = "cuda:map",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .prepare = HEADROOM_CUDA(prepare_cross_entropy_grad_cuda)},
                   {.name = "cpu:vector", .prepare = cross_entropy_grad_vector},
                   {.name = "reference", .prepare = cross_entropy_grad_reference}},
       .cases = backward}};
}

}  // namespace headroom
