#include "ops/reduce/reduce.h"
#include "ops/reduce/stages.h"

namespace headroom {
namespace {

using Axes = std::vector<std::int64_t>;

struct Trial {
  Tier tier;
  Shape shape;
  Axes axes;
  std::int64_t keepdims = 1;
};

// All, trailing, leading and middle axes, several at once, rows too short for a vector, more than one chunk.
std::vector<Trial> trials() {
  return {{Tier::ci, {1}, {}},
          {Tier::ci, Shape{}, {}},
          {Tier::ci, {7}, {0}, 0},
          {Tier::ci, {3, 1, 5}, {1}},
          {Tier::ci, {6, 10}, {}, 0},
          {Tier::ci, {6, 37}, {-1}},
          {Tier::ci, {37, 6}, {0}, 0},
          {Tier::ci, {130, 3}, {0}},
          {Tier::ci, {3, 5, 7}, {1}},
          {Tier::ci, {2, 3, 5, 7}, {0, 2, 3}},
          {Tier::ci, {2, 3, 5, 7}, {-1, -3}, 0},
          {Tier::ci, {2, 3, 2, 3, 2, 3}, {0, 2, 4}},
          {Tier::smoke, {3000}, {}},
          {Tier::smoke, {2, 2500}, {1}},
          {Tier::smoke, {60, 129}, {0}},
          {Tier::smoke, {4000, 2}, {0}},
          {Tier::smoke, {40, 1100}, {0}},
          {Tier::smoke, {3, 2000, 3}, {1}},
          {Tier::smoke, {2, 3, 33, 65}, {0, 2, 3}},
          {Tier::smoke, {70000}, {}},
          {Tier::smoke, {300, 200}, {0}},
          {Tier::smoke, {2000, 9}, {1}},
          {Tier::smoke, {1500, 20, 3}, {1}},
          {Tier::perf, {4194304}, {}},
          {Tier::perf, {262144}, {}},
          {Tier::perf, {4096, 1024}, {1}},
          {Tier::perf, {4096, 1024}, {0}},
          {Tier::perf, {256, 1024}, {1}},
          {Tier::perf, {256, 1024}, {0}},
          {Tier::perf, {26214, 10}, {0}},
          {Tier::perf, {16, 64, 64, 64}, {1}},
          {Tier::perf, {16, 64, 64, 64}, {0, 2, 3}}};
}

Attrs attrs_of(const Trial& t) {
  Attrs attrs;
  if (!t.axes.empty()) attrs.set("axes", t.axes);
  if (t.keepdims == 0) attrs.set("keepdims", t.keepdims);
  return attrs;
}

std::vector<Case> reductions() {
  std::vector<Case> cases;
  for (const Trial& t : trials())
    cases.push_back({.tier = t.tier, .inputs = {t.shape}, .attrs = attrs_of(t)});
  return cases;
}

std::vector<Case> reductions_of_numbers() {
  std::vector<Case> cases = reductions();
  for (const Trial& t : trials())
    for (DType dtype : {DType::i64, DType::i32})
      if (t.tier != Tier::perf)
        cases.push_back({.tier = Tier::smoke,  // there is no gradient to check
                         .inputs = {t.shape},
                         .attrs = attrs_of(t),
                         .fills = {{Fill::Kind::digit, 100}},
                         .dtypes = {dtype}});
  return cases;
}

// A third of the digits 0, 1 and 2 equals a maximum of 1; a result without any gets NaN from either kernel.
std::vector<Case> max_gradients() {
  std::vector<Case> cases;
  for (const Trial& t : trials()) {
    const Shape y = reduce_schema("reduce_max").infer({{t.shape, DType::f32}}, attrs_of(t))[0].shape;
    cases.push_back({.tier = t.tier,
                     .inputs = {y, t.shape, y},
                     .attrs = attrs_of(t),
                     .fills = {{}, {Fill::Kind::digit, 3}, {Fill::Kind::constant, 1}}});
  }
  return cases;
}

std::vector<Case> expansions() {
  const auto expand = [](Tier tier, Shape from, Axes to, double scale = 1) {
    Attrs attrs{{"shape", std::move(to)}};
    if (scale != 1) attrs.set("scale", scale);
    return Case{.tier = tier, .inputs = {from}, .attrs = attrs};
  };
  const auto bytes = [&](DType dtype) {
    Case c = expand(Tier::smoke, {3, 1, 2}, {4, 1, 5, 1});
    c.fills = {{Fill::Kind::digit, 9}}, c.dtypes = {dtype};
    return c;
  };
  return {bytes(DType::i64),
          bytes(DType::i32),
          bytes(DType::boolean),
          expand(Tier::ci, {1}, {7}),
          expand(Tier::ci, Shape{}, {3, 5}),
          expand(Tier::ci, {5}, {1}, 0.5),
          expand(Tier::ci, {3, 1}, {3, 37}, 0.25),
          expand(Tier::ci, {37}, {3, 37}),
          expand(Tier::ci, {3, 1, 2}, {4, 1, 5, 1}),
          expand(Tier::smoke, {16, 1, 1}, {4, 16, 28, 28}, 0.125),
          expand(Tier::perf, {1}, {4194304}),
          expand(Tier::perf, {1024}, {4096, 1024}),
          expand(Tier::perf, {256, 1}, {256, 1024})};
}

// Of what lies between two stages: fp64, fp32, or the integers themselves.
std::size_t wide_bytes(const Problem& p) {
  return p.outputs[0].dtype == DType::f64 || p.outputs[0].dtype == DType::i64 ? 8 : 4;
}

std::size_t workspace_cuda(const Problem& p, const Target&) {
  return static_cast<std::size_t>(between_stages(stages_of(reduce_problem(p)))) * wide_bytes(p);
}

std::size_t max_grad_workspace_cuda(const Problem& p, const Target& target) {
  return static_cast<std::size_t>(p.inputs[0].shape.numel()) * wide_bytes(p) + workspace_cuda(p, target);
}

Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.main().count = static_cast<int>(stages_of(reduce_problem(p)).size());
  return work.add_bytes(2 * static_cast<double>(workspace_cuda(p, target)));
}

// Marks are written, counted, and turned into shares.
Work max_grad_work_cuda(const Problem& p, const Target& target) {
  Work work = work_cuda(p, target);
  return work.add_pass(3 * static_cast<double>(p.outputs[0].bytes()), 2);
}

}  // namespace

std::vector<Operator> reduce_operators() {
  std::vector<Operator> list;
  for (const std::string name : {"reduce_sum", "reduce_mean", "reduce_max"})
    list.push_back(
        {.schema = reduce_schema(name),
         .kernels = {{.name = "cuda:stages",
                      .device = DeviceKind::cuda,
                      .accepts = accepts_cuda_floats,
                      .work = work_cuda,
                      .prepare = HEADROOM_CUDA(prepare_reduce_cuda),
                      .workspace = workspace_cuda},
                     {.name = "cpu:passes", .prepare = reduce_passes, .workspace = reduce_workspace},
                     {.name = "reference", .prepare = reduce_reference}},
         .cases = name == "reduce_mean" ? reductions() : reductions_of_numbers(),
         .exact = name != "reduce_mean"});
  list.push_back({.schema = reduce_max_grad_schema(),
                  .kernels = {{.name = "cuda:stages",
                               .device = DeviceKind::cuda,
                               .accepts = accepts_cuda_floats,
                               .work = max_grad_work_cuda,
                               .prepare = HEADROOM_CUDA(prepare_reduce_max_grad_cuda),
                               .workspace = max_grad_workspace_cuda},
                              {.name = "cpu:passes",
                               .prepare = reduce_max_grad_passes,
                               .workspace = reduce_max_grad_workspace},
                              {.name = "reference", .prepare = reduce_max_grad_reference}},
                  .cases = max_gradients()});
  list.push_back({.schema = expand_schema(),
                  .kernels = {{.name = "cuda:stretch",
                               .device = DeviceKind::cuda,
                               .accepts = accepts_cuda_floats,
                               .prepare = HEADROOM_CUDA(prepare_expand_cuda)},
                              {.name = "cpu:rows", .prepare = expand_rows},
                              {.name = "reference", .prepare = expand_reference}},
                  .cases = expansions(),
                  .exact = true});
  return list;
}

}  // namespace headroom
