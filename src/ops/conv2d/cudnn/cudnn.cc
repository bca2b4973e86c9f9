// Convolutions by NVIDIA's library, described without it: convolve.cc calls it.
#include "ops/conv2d/cudnn/cudnn.h"

#include <algorithm>

#include "base/error.h"
#include "ops/conv2d/cuda/as_linear.h"
#include "ops/conv2d/cuda/shared.h"
#include "ops/conv2d/cudnn/folded.h"
#include "ops/conv2d/cudnn/nchw_copies.h"

#if defined(HEADROOM_HAS_CUDA) && defined(HEADROOM_HAS_CUDNN)
#define HEADROOM_CUDNN(prepare) prepare
#else
#define HEADROOM_CUDNN(prepare) nullptr
#endif

namespace headroom {

const Kernel& own_convolution(const Problem& p, const Target& target) {
  static const Kernel implicit = conv2d_cuda_implicit_gemm(), direct = conv2d_cuda_direct();
  return implicit.accepts(p, target).ok ? implicit : direct;
}

namespace {

// Our own convolutions other than the direct one need it.
constexpr int kFirstWithOwnProducts = 80;

std::int64_t max_elements(const Problem& p) {
  std::int64_t largest = 0;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list) largest = std::max(largest, type.shape.numel());
  return largest;
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (!target.device.cudnn) return refuse("cuDNN could not be loaded");
  const bool nhwc = conv2d_layout(p) == Layout::nhwc;
  const DType dtype = p.outputs[0].dtype;
  if (nhwc && (dtype == DType::f64 || (dtype == DType::f32 && !target.policy.tf32)))
    return refuse("exact products are of NCHW");
  const Window2d& w = c.window;
  const auto outputs = [](std::int64_t input, std::int64_t pad, std::int64_t kernel, std::int64_t dilation,
                          std::int64_t stride) {
    const std::int64_t room = input + 2 * pad - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  };
  if (outputs(w.input.h, w.pad.h, w.kernel.h, w.dilation.h, w.stride.h) != w.output.h ||
      outputs(w.input.w, w.pad.w, w.kernel.w, w.dilation.w, w.stride.w) != w.output.w)
    return refuse("padding differs at the two ends");
  if (!nhwc && target.device.compute_capability >= kFirstWithOwnProducts)
    return conv2d_cuda_implicit_gemm().accepts(p, target);  // which runs if the library has no algorithm
  if (!nhwc)
    if (Verdict v = has_wide_groups(sweep_of(p)); !v.ok) return v;
  return max_elements(p) <= INT32_MAX ? accept() : refuse("elements are counted in 31 bits");
}

Verdict pays(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  if (target.device.compute_capability < kFirstWithOwnProducts) return accept();
  if (conv2d_layout(p) == Layout::nchw && (c.group_channels() < 64 || c.group_maps() < 64))
    return refuse("fewer than 64 channels or maps in a group: our own kernels are faster");
  return accept();
}

// One tap over NHWC is a plain product.
Verdict accepts_pointwise(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  if (conv2d_layout(p) != Layout::nhwc || !c.is_pointwise() || c.groups != 1)
    return refuse("no window of one tap over NHWC");
  return product_cublaslt().accepts(conv2d_as_product(p, target), target);
}

// All candidates for the wide problem between the copies of a folded one: "padded/heuristic_2".
std::vector<std::string> candidates(const Problem& p, const Target& target);

void add_folded(const Problem& p, const Target& target, std::vector<std::string>& names) {
  for (const FoldedConv2d& folded : conv2d_folded(p, target))
    for (const std::string& inner : candidates(folded.problem, target))
      names.push_back(fmt::format("{}/{}", folded.name, inner));
}

std::vector<std::string> candidates(const Problem& p, const Target& target) {
  const bool nhwc = conv2d_layout(p) == Layout::nhwc;
  std::vector<std::string> names = {kSuggested};
  if (target.policy.deterministic) {  // no choice by timing: the first that the library has
    if (!nhwc) names.push_back(kOwnImplicit);
    return names;
  }
  const Conv2d c = parse_conv2d(p);
  const bool exact =
      p.outputs[0].dtype == DType::f64 || (p.outputs[0].dtype == DType::f32 && !target.policy.tf32);
  names.clear();
  for (const int algorithm : cudnn_algorithms(p.op)) {
    if (!exact) names.push_back(cudnn_algorithm_name(algorithm, CudnnMath::tensor));
    names.push_back(cudnn_algorithm_name(algorithm, CudnnMath::fma));
    if (!exact) names.push_back(cudnn_algorithm_name(algorithm, CudnnMath::convert));
  }
  if (!nhwc) {
    names.push_back(kOwnImplicit);
    return names;
  }
  if (p.op == "conv2d" && c.bias && (c.activation == Activation::relu || c.activation == Activation::none))
    names.push_back(kFusedBias);
  for (int i = 0; i < kMaxHeuristics; ++i) names.push_back(fmt::format("{}{}", kHeuristic, i));
  if (accepts_pointwise(p, target).ok) names.push_back(kAsProduct);
  if (takes_nchw_copies(p)) names.push_back(kNchwCopies);
  add_folded(p, target, names);
  return names;
}

// Which of the library's kernels runs is the plan's variant; this is what all of them must do.
Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with(by_arithmetic(p, target, "cudnn.fp32", "cudnn.tf32", "cudnn.fp64", "cudnn.16bit"),
            tensor_unit(p.outputs[0].dtype, target.policy.tf32), extent_of(p));
  const Conv2d c = parse_conv2d(p);
  if (c.bias || c.activation != Activation::none) work.add_pass(2 * double(p.outputs[0].bytes()));
  return work;
}

}  // namespace

std::span<const int> cudnn_algorithms(std::string_view op) {
  static constexpr int kForward[] = {0, 1, 2, 3}, kInput[] = {0, 1}, kWeight[] = {0, 1, 3};
  if (op == "conv2d_grad_input") return kInput;
  if (op == "conv2d_grad_weight") return kWeight;
  return kForward;
}

std::string cudnn_algorithm_name(int algorithm, CudnnMath math) {
  const char* suffix = math == CudnnMath::fma ? ".fma" : math == CudnnMath::convert ? ".convert" : "";
  return fmt::format("algorithm_{}{}", algorithm, suffix);
}

std::size_t cudnn_workspace(const Problem& p, const Target& target) {
  std::size_t other = 0;
  if (conv2d_layout(p) == Layout::nchw)
    other = own_convolution(p, target).workspace(p, target);
  else if (takes_nchw_copies(p))
    other = nchw_copies_workspace(p, target);
  for (const FoldedConv2d& folded : conv2d_folded(p, target))
    other = std::max(other, folded_workspace(folded, target));
  if (accepts_pointwise(p, target).ok) other = std::max(other, conv2d_cuda_as_linear().workspace(p, target));
  // Algorithms for NCHW transpose tensors here; those for NHWC keep partial sums of the filters' gradients.
  const std::size_t max_bytes = std::size_t{conv2d_layout(p) == Layout::nhwc ? 96u : 256u} << 20;
  constexpr std::size_t kMinBytes = std::size_t{8} << 20;
  std::size_t tensors = 0;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list) tensors += static_cast<std::size_t>(type.bytes());
  return std::max(std::clamp(4 * tensors, kMinBytes, max_bytes), other);
}

Kernel conv2d_cudnn() {
  return {.name = "cudnn",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .pays = pays,
          .work = work,
          .prepare = HEADROOM_CUDNN(prepare_conv2d_cudnn),
          .workspace = cudnn_workspace,
          .candidates = candidates,
          .layouts = Layouts::alike,
          .vendor = true};
}

}  // namespace headroom
