#include "train/fusions.h"

#include <algorithm>

#include "ops/mlp_classifier/mlp_classifier.h"
#include "passes/passes.h"

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

// On a CPU, a block pays where the convolution alone would run by the same kernel. On a GPU always, unless
// the user asks for another kernel, or another kind of kernels, for convolutions.
bool wants_pooled_block(const BuildRequest& request, const Problem& block) {
  try {
    const Choice choice = request.choose(block, request.target),
                 alone = request.choose(without_pool(block), request.target);
    if (choice.kernel == nullptr || alone.kernel == nullptr) return false;
    if (alone.of_kind) return alone.kernel->vendor == choice.kernel->vendor;
    const bool any = request.target.device.kind == DeviceKind::cuda && !alone.forced;
    return any || alone.kernel->name == choice.kernel->name;
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

// On an H200 a step of 3000 x 784 x 512 took 57 us with the input in parts, 65 with both products by the
// library; forward alone 41 and 30.
std::set<std::string> split_together(const BuildRequest& request, const Graph& graph) {
  constexpr double kLarge = 1e9;  // products
  std::set<std::string> together;
  if (!request.target.policy.tf32) return together;
  const auto takes = [&](const Problem& product) {
    const std::vector<Kernel>& kernels = operator_of(product.op).kernels;
    const auto kernel = std::ranges::find(kernels, "cuda:fp16_wgmma", &Kernel::name);
    return kernel != kernels.end() && accepts(*kernel, product, request.target).ok &&
           schema_of(product.op).cost(product).multiply_add / 2 >= kLarge &&
           !request.choose(product, request.target).forced;
  };
  for (const InputProducts& both : products_of_inputs(graph))
    if (takes(both.layer) && takes(both.gradient)) together.insert({both.layer.str(), both.gradient.str()});
  return together;
}

}  // namespace headroom
