#include "ops/mlp_classifier/mlp_classifier.h"
#include "ops/mlp_classifier/plan.h"
#include "ops/tally/tally.h"

namespace headroom {
namespace mlp_classifier_kernels_cc {
namespace {

MlpClassifierPlan plan_of(const Problem& problem, const Target& target) {
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  return plan_mlp_classifier(p.rows, p.inputs, p.hidden, p.classes, target.policy.tf32 ? 1 : 2,
                             target.device.multiprocessors);
}

Verdict accepts(const Problem& problem, const Target& target) {
  constexpr int kHopper = 90;
  if (const DType dtype = problem.inputs[0].dtype; dtype != DType::f32)
    return refuse(fmt::format("takes fp32, not {}", name_of(dtype)));
  if (target.device.compute_capability != kHopper)
    return refuse("its clusters of blocks are built for Hopper, compute capability 9.0");
  if (plan_of(problem, target).rows > 0) return accept();
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  return refuse(fmt::format("{} hidden units of {} inputs are more than the shared memory of a cluster holds",
                            p.hidden, p.inputs));
}

// The time of a launch is that of its steps one after the other, once per turn: other kernels keep more of
// the GPU busy when there are several. On an H200, us of a whole step in fp32: one turn, 800 x 784 x 100 25
// and 37, 3200 x 784 x 64 31 and 50.
Verdict pays(const Problem& problem, const Target& target) {
  const MlpClassifierPlan plan = plan_of(problem, target);
  if (plan.tiles <= plan.clusters) return accept();
  return refuse(fmt::format("its clusters would take {} turns: other kernels share out so much work better",
                            (plan.tiles + plan.clusters - 1) / plan.clusters));
}

// Both products in parts, of whole tiles; what clusters leave is written, and read by the second launch.
Work work(const Problem& problem, const Target& target) {
  const MlpClassifierPlan plan = plan_of(problem, target);
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  const double products = plan.parts == 2 ? 3 : 1;
  const double tile = 2.0 * plan.rows * plan.units * double(plan.inputs) * plan.blocks;
  const double left = double(plan.workspace(p.inputs, p.hidden, p.classes));
  Work w = least_work(problem, target);
  w.with(plan.parts == 2 ? "gpu.mlp_classifier" : "gpu.mlp_classifier.rounded", Unit::fp16,
         {p.rows, p.hidden, p.inputs});
  const double rest = w.main().flops - 4.0 * double(p.rows) * double(p.inputs) * double(p.hidden);
  w.main().flops += (products - 1) * 4.0 * double(p.rows) * double(p.inputs) * double(p.hidden);
  w.main().executed = 2 * products * tile * double(plan.tiles) + rest;
  w.main().tile = {plan.rows, plan.units, plan.inputs};
  w.main().blocks = plan.blocks_in_all();
  w.main().l2_bytes = w.main().bytes + left +
                      4.0 * double(plan.clusters - 1) * double(p.hidden) * double(p.inputs + p.classes);
  return w.add_pass(2 * left);
}

std::size_t workspace(const Problem& problem, const Target& target) {
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  return plan_of(problem, target).workspace(p.inputs, p.hidden, p.classes);
}

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](Tier tier, std::int64_t rows, std::int64_t inputs, std::int64_t hidden, std::int64_t classes,
                 const char* activation, std::optional<DType> labels = {}) {
    list.push_back(
        {.tier = tier,
         .inputs = {{rows, inputs}, {hidden, inputs}, {hidden}, {classes, hidden}, {classes}, {rows}},
         .attrs = {{"activation", std::string(activation)}},
         .fills = {{}, {}, {}, {}, {}, {Fill::Kind::label, static_cast<double>(classes)}},
         .dtypes = {std::nullopt, std::nullopt, std::nullopt, std::nullopt, std::nullopt, labels}});
  };
  // With the learning rate and a penalty for weights.
  auto add_update = [&](Tier tier, std::int64_t rows, std::int64_t inputs, std::int64_t hidden,
                        std::int64_t classes, double l2) {
    add(tier, rows, inputs, hidden, classes, "tanh");
    Case& c = list.back();
    c.inputs.push_back({1});
    c.fills.push_back({Fill::Kind::constant, 0.125});
    c.dtypes.push_back(DType::f64);
    if (l2 > 0) c.attrs.set("l2", l2), c.attrs.set("penalized", std::vector<std::int64_t>{1, 0, 1, 0});
    return &c;
  };
  // And with penalty and tally.
  auto add_step = [&](Tier tier, std::int64_t rows, std::int64_t inputs, std::int64_t hidden,
                      std::int64_t classes) {
    Case& c = *add_update(tier, rows, inputs, hidden, classes, 0.25);
    c.attrs.set("penalty", std::int64_t{1}), c.attrs.set("count", rows);
    c.inputs.push_back({std::int64_t{kTallyFields}});
    c.fills.push_back({Fill::Kind::constant, 3});
    c.dtypes.push_back(DType::f64);
  };
  add(Tier::ci, 1, 1, 1, 2, "sigmoid");
  add(Tier::ci, 33, 65, 17, 10, "tanh");
  add(Tier::ci, 130, 40, 100, 3, "sigmoid", DType::i64);
  add_update(Tier::ci, 19, 23, 9, 4, 0);
  add_update(Tier::ci, 33, 64, 16, 10, 0.25);
  add_step(Tier::ci, 41, 37, 21, 5);
  add_step(Tier::smoke, 130, 200, 48, 10);
  add(Tier::smoke, 64, 784, 64, 10, "sigmoid");
  add(Tier::smoke, 257, 101, 33, 16, "relu");
  add(Tier::smoke, 70, 515, 250, 10, "tanh");
  add(Tier::smoke, 3000, 30, 12, 5, "sigmoid");  // several tiles to a cluster
  add(Tier::smoke, 5, 3072, 32, 10, "relu");
  add(Tier::smoke, 20, 40, 300, 10, "relu");  // more units than GPUs take
  add(Tier::perf, 800, 784, 100, 10, "sigmoid");
  add(Tier::perf, 3200, 784, 64, 10, "sigmoid");
  return list;
}

}  // namespace
}  // namespace mlp_classifier_kernels_cc

std::vector<Operator> mlp_classifier_operators() {
  using namespace mlp_classifier_kernels_cc;
  return {{.schema = mlp_classifier_schema(),
           .kernels = {{.name = "cuda:one_pass",
                        .device = DeviceKind::cuda,
                        .accepts = accepts,
                        .pays = pays,
                        .work = work,
                        .prepare = HEADROOM_CUDA(prepare_mlp_classifier_cuda),
                        .workspace = workspace},
                       {.name = "reference", .prepare = mlp_classifier_reference}},
           .cases = cases()}};
}

}  // namespace headroom
