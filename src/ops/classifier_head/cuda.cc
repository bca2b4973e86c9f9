#include "ops/classifier_head/cuda.h"

#include "ops/classifier_head/classifier_head.h"
#include "ops/cuda/launch.h"

namespace headroom {

Launcher prepare_classifier_head_cuda(const Problem& problem, const LaunchContext& context) {
  const HeadProblem p = head_problem(problem);
  const cuda::HeadShape shape{.rows = p.rows,
                              .inputs = p.inputs,
                              .classes = p.classes,
                              .slope = static_cast<int>(p.slope),
                              .wide_labels = problem.inputs[3].dtype == DType::i64,
                              .parts = p.parts,
                              .ld = p.ld};
  const HeadSplit split = head_split(p.rows, p.inputs, p.classes, context.target.device.multiprocessors);
  return [shape, split](const LaunchArgs& a) {
    cuda::classifier_head(shape, split,
                          {.h = a.in<float>(0),
                           .w = a.in<float>(1),
                           .bias = a.in<float>(2),
                           .labels = a.inputs[3],
                           .loss = a.out<float>(0),
                           .correct = a.out<float>(1),
                           .dz = a.outputs[2],
                           .dw = a.out<float>(3),
                           .dbias = a.out<float>(4),
                           .dh_bias = a.out<float>(5),
                           .dz_scale = shape.parts > 0 ? a.out<cuda::PartsScale>(6) : nullptr},
                          a.workspace, cuda::stream_of(a));
  };
}

}  // namespace headroom
