#include "train/fusions.h"

#include "ops/mlp_classifier/mlp_classifier.h"

namespace headroom {
namespace {

// The convolution of a block that pools, alone.
Problem without_pool(const Problem& block) {
  Problem conv{.op = "conv2d", .inputs = block.inputs, .outputs = {}, .attrs = {}};
  for (const auto& [name, value] : block.attrs)
    if (!name.starts_with("pool") && name != "bias" && name != "norm" && name != "residual")
      conv.attrs.set(name, value);
  conv.outputs = schema_of(conv.op).infer(conv.inputs, conv.attrs);
  return conv;
}

}  // namespace

// On a CPU, a block pays where the convolution alone would run by the same kernel.
bool wants_pooled_block(const BuildRequest& request, const Problem& block) {
  try {
    const Choice choice = request.choose(block, request.target);
    if (choice.kernel == nullptr || request.target.device.kind == DeviceKind::cuda)
      return choice.kernel != nullptr;
    const Choice alone = request.choose(without_pool(block), request.target);
    return alone.kernel != nullptr && alone.kernel->name == choice.kernel->name;
  } catch (const Error&) {  // no kernel takes it: the plan stays as it is
    return false;
  }
}

// Not where the user forces kernels of the parts.
bool wants_small_classifier(const BuildRequest& request, const Problem& whole) {
  const auto choose = [&](const Problem& problem) { return request.choose(problem, request.target); };
  try {
    const Choice choice = choose(whole);
    if (choice.kernel == nullptr || choice.kernel->device != request.target.device.kind) return false;
    const TensorType h{{whole.inputs[0].shape[0], whole.inputs[2].shape[0]}, whole.inputs[0].dtype};
    const Problem linear{.op = "linear",
                         .inputs = {whole.inputs[0], whole.inputs[1], whole.inputs[2]},
                         .outputs = {h},
                         .attrs = {}};
    const Problem matmul{.op = "matmul",
                         .inputs = {h, whole.inputs[0]},
                         .outputs = {whole.outputs[2]},
                         .attrs = {{"trans_a", std::int64_t{1}}}};
    return !choose(linear).forced && !choose(matmul).forced;
  } catch (const Error&) {  // no kernel takes it: the plan stays as it is
    return false;
  }
}

// Not where the user forces the update's kernel.
bool wants_classifier_update(const BuildRequest& request, const Problem& whole) {
  Problem update{.op = "sgd", .inputs = {whole.inputs.at(6)}, .outputs = {}, .attrs = {}};
  for (std::size_t i = 1; i <= MlpClassifierProblem::kParameters; ++i) {
    update.inputs.insert(update.inputs.end(), 2, whole.inputs[i]);
    update.outputs.push_back(whole.inputs[i]);
  }
  try {
    return request.choose(whole, request.target).kernel != nullptr &&
           !request.choose(update, request.target).forced;
  } catch (const Error&) {  // no kernel takes it: the plan stays as it is
    return false;
  }
}

// The kernels that split their factors themselves. Where one is chosen, the parts become values of the graph.
bool splits_factors(const BuildRequest& request, const Problem& product) {
  try {
    const Choice choice = request.choose(product, request.target);
    return choice.kernel != nullptr && choice.kernel->splits_factors;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace headroom
