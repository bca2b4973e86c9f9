#include "ops/mlp_classifier/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/mlp_classifier/mlp_classifier.h"

namespace headroom {

Launcher prepare_mlp_classifier_cuda(const Problem& problem, const LaunchContext& context) {
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  const MlpClassifierPlan plan =
      plan_mlp_classifier(p.rows, p.inputs, p.hidden, p.classes, context.target.policy.tf32 ? 1 : 2,
                          context.target.device.multiprocessors);
  const cuda::MlpClassifierShape shape{.rows = p.rows,
                                       .inputs = p.inputs,
                                       .hidden = static_cast<int>(p.hidden),
                                       .classes = static_cast<int>(p.classes),
                                       .activation = static_cast<int>(p.activation),
                                       .wide_labels = problem.inputs[5].dtype == DType::i64,
                                       .l2 = {static_cast<float>(p.l2[0]), static_cast<float>(p.l2[1]),
                                              static_cast<float>(p.l2[2]), static_cast<float>(p.l2[3])},
                                       .penalty = p.penalty,
                                       .count = static_cast<double>(p.count)};
  const auto from_outside = [&](std::size_t input) {
    return input < context.from_outside.size() && context.from_outside[input];
  };
  const cuda::MlpClassifierSurroundings around{
      .multiprocessors = context.target.device.multiprocessors,
      .batch_from_outside = from_outside(0) && from_outside(5),
  };
  return [shape, plan, around, updates = p.updates, tallies = p.tallies](const LaunchArgs& a) {
    cuda::mlp_classifier(shape, plan,
                         {.x = a.in<float>(0),
                          .w1 = a.in<float>(1),
                          .b1 = a.in<float>(2),
                          .w2 = a.in<float>(3),
                          .b2 = a.in<float>(4),
                          .labels = a.inputs[5],
                          .rate = updates ? a.in<double>(6) : nullptr,
                          .loss = a.out<float>(0),
                          .correct = a.out<float>(1),
                          .new_w1 = a.out<float>(2),
                          .new_b1 = a.out<float>(3),
                          .new_w2 = a.out<float>(4),
                          .new_b2 = a.out<float>(5),
                          .tally = tallies ? a.out<double>(6) : nullptr},
                         around, a.workspace, cuda::stream_of(a));
  };
}

}  // namespace headroom
