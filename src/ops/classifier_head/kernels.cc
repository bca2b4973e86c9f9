#include "ops/classifier_head/classifier_head.h"

namespace headroom {
namespace classifier_head_kernels_cc {
namespace {

Verdict accepts_cuda(const Problem& problem, const Target&) {
  if (const DType dtype = problem.inputs[0].dtype; dtype != DType::f32)
    return refuse(fmt::format("takes fp32, not {}", name_of(dtype)));
  const HeadProblem p = head_problem(problem);
  if (HeadSplit::fits(p.inputs, p.classes)) return accept();
  return refuse(
      fmt::format("{} classes of {} inputs are more than its shared memory holds", p.classes, p.inputs));
}

Verdict accepts_reference(const Problem& problem, const Target& target) {
  if (problem.outputs[2].dtype == DType::f16) return refuse("parts of fp16 are for GPUs");
  return accepts_cpu_floats(problem, target);
}

Work work_cuda(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  const HeadProblem p = head_problem(problem);
  const HeadSplit split = head_split(p.rows, p.inputs, p.classes, target.device.multiprocessors);
  return work.add_pass(2 * double(split.workspace()));
}

std::size_t workspace_cuda(const Problem& problem, const Target& target) {
  const HeadProblem p = head_problem(problem);
  return head_split(p.rows, p.inputs, p.classes, target.device.multiprocessors).workspace();
}

std::vector<Case> cases() {
  std::vector<Case> list;
  auto add = [&](Tier tier, std::int64_t rows, std::int64_t inputs, std::int64_t classes, const char* slope,
                 std::optional<DType> labels = {}, std::int64_t parts = 0) {
    Attrs attrs;
    if (parts > 0) attrs.set("parts", parts);
    if (*slope != '\0') attrs.set("activation_grad", std::string(slope));
    list.push_back({.tier = tier,
                    .inputs = {{rows, inputs}, {classes, inputs}, {classes}, {rows}},
                    .attrs = attrs,
                    // The scale of parts rests on slopes of at most 1, as outputs of an activation have them.
                    .fills = {{parts > 0 ? Fill::Kind::positive : Fill::Kind::normal},
                              {},
                              {},
                              {Fill::Kind::label, static_cast<double>(classes)}},
                    .dtypes = {std::nullopt, std::nullopt, std::nullopt, labels}});
  };
  add(Tier::ci, 1, 1, 2, "");
  add(Tier::ci, 5, 7, 3, "relu");
  add(Tier::ci, 33, 65, 10, "sigmoid");
  add(Tier::ci, 64, 84, 10, "relu", DType::i64);
  add(Tier::smoke, 1, 3, 1, "tanh");
  add(Tier::smoke, 3000, 10, 16, "tanh");
  add(Tier::smoke, 1000, 33, 2, "");
  add(Tier::smoke, 700, 160, 10, "tanh");
  add(Tier::smoke, 300, 512, 10, "sigmoid");
  add(Tier::smoke, 41, 1024, 10, "relu");
  add(Tier::smoke, 300, 1021, 5, "sigmoid");
  add(Tier::smoke, 77, 603, 16, "");
  add(Tier::smoke, 9000, 12, 9, "relu");   // several tiles of rows to a block
  add(Tier::smoke, 20, 1100, 10, "relu");  // beyond what GPUs take
  add(Tier::smoke, 300, 100, 10, "sigmoid", {}, 2);
  add(Tier::smoke, 37, 603, 16, "tanh", {}, 2);
  add(Tier::smoke, 700, 61, 3, "", {}, 1);
  add(Tier::perf, 3000, 512, 10, "sigmoid");
  return list;
}

}  // namespace
}  // namespace classifier_head_kernels_cc

std::vector<Operator> classifier_head_operators() {
  using namespace classifier_head_kernels_cc;
  return {
      {.schema = classifier_head_schema(),
       .kernels = {{.name = "cuda:rows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda,
                    .work = work_cuda,
                    .prepare = HEADROOM_CUDA(prepare_classifier_head_cuda),
                    .workspace = workspace_cuda},
                   {.name = "reference", .accepts = accepts_reference, .prepare = classifier_head_reference}},
       .cases = cases()}};
}

}  // namespace headroom
