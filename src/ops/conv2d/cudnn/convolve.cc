// Convolutions by NVIDIA's library, loaded on first use. It takes padding that is equal at both ends. The
// plan names the algorithm (cudnn.h); the tuner in plan/ has timed them.
#ifdef HEADROOM_HAS_CUDNN

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "ops/conv2d/cuda/shared.h"
#include "ops/conv2d/cudnn/cudnn.h"
#include "ops/conv2d/cudnn/device.h"
#include "ops/conv2d/cudnn/folded.h"
#include "ops/conv2d/cudnn/heuristics.h"
#include "ops/conv2d/cudnn/library.h"
#include "ops/conv2d/cudnn/nchw_copies.h"
#include "ops/cuda/launch.h"

// The plain calls are marked as old; they are all that is needed, and in every version since 8.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace headroom {
namespace {

// The descriptors of one convolution, freed with the launcher that holds them.
struct Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr, bias = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;
  cudnnActivationDescriptor_t activation = nullptr;

  Descriptors(const Conv2d& c, DType dtype, bool tf32, Layout layout) {
    const auto i = [](std::int64_t v) { return static_cast<int>(v); };
    const Window2d& v = c.window;
    const Cudnn& d = cudnn();
    const cudnnDataType_t type = cudnn_type(dtype);
    const cudnnTensorFormat_t format = layout == Layout::nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
    HEADROOM_CUDNN_CHECK(d.CreateTensorDescriptor(&x));
    HEADROOM_CUDNN_CHECK(d.CreateTensorDescriptor(&y));
    HEADROOM_CUDNN_CHECK(d.CreateFilterDescriptor(&w));
    HEADROOM_CUDNN_CHECK(d.CreateConvolutionDescriptor(&convolution));
    HEADROOM_CUDNN_CHECK(
        d.SetTensor4dDescriptor(x, format, type, i(c.batch), i(c.channels), i(v.input.h), i(v.input.w)));
    HEADROOM_CUDNN_CHECK(
        d.SetTensor4dDescriptor(y, format, type, i(c.batch), i(c.maps), i(v.output.h), i(v.output.w)));
    HEADROOM_CUDNN_CHECK(d.SetFilter4dDescriptor(w, type, format, i(c.maps), i(c.group_channels()),
                                                 i(v.kernel.h), i(v.kernel.w)));
    HEADROOM_CUDNN_CHECK(d.SetConvolution2dDescriptor(
        convolution, i(v.pad.h), i(v.pad.w), i(v.stride.h), i(v.stride.w), i(v.dilation.h), i(v.dilation.w),
        CUDNN_CROSS_CORRELATION, dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
    const bool exact = dtype == DType::f64 || (dtype == DType::f32 && !tf32);
    HEADROOM_CUDNN_CHECK(
        d.SetConvolutionMathType(convolution, exact ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    HEADROOM_CUDNN_CHECK(d.SetConvolutionGroupCount(convolution, i(c.groups)));
    if (!c.bias) return;
    HEADROOM_CUDNN_CHECK(d.CreateTensorDescriptor(&bias));
    HEADROOM_CUDNN_CHECK(d.SetTensor4dDescriptor(bias, format, type, 1, i(c.maps), 1, 1));
    HEADROOM_CUDNN_CHECK(d.CreateActivationDescriptor(&activation));
    HEADROOM_CUDNN_CHECK(d.SetActivationDescriptor(
        activation, c.activation == Activation::relu ? CUDNN_ACTIVATION_RELU : CUDNN_ACTIVATION_IDENTITY,
        CUDNN_PROPAGATE_NAN, 0));
  }
  ~Descriptors() {
    const Cudnn& d = cudnn();
    if (activation != nullptr) d.DestroyActivationDescriptor(activation);
    if (bias != nullptr) d.DestroyTensorDescriptor(bias);
    if (convolution != nullptr) d.DestroyConvolutionDescriptor(convolution);
    if (w != nullptr) d.DestroyFilterDescriptor(w);
    if (y != nullptr) d.DestroyTensorDescriptor(y);
    if (x != nullptr) d.DestroyTensorDescriptor(x);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
};

// Factors of the product and of what was there before, in the type of the sum.
struct Factors {
  double wide[2] = {1, 0};
  float single[2] = {1, 0};
  const void* one(DType dtype) const { return dtype == DType::f64 ? static_cast<const void*>(wide) : single; }
  const void* zero(DType dtype) const {
    return dtype == DType::f64 ? static_cast<const void*>(wide + 1) : single + 1;
  }
};

// The three products, as the library calls them: its suggestions, fastest first by its own estimate, the
// algorithms among them that sum products, and the call.
static_assert(CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM == 0 && CUDNN_CONVOLUTION_FWD_ALGO_DIRECT == 3 &&
              CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 == 1 && CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 == 3);

struct Forward {
  using Perf = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr const char* kOperator = "conv2d";
  static cudnnStatus_t ask(cudnnHandle_t h, const Descriptors& d, int most, int* count, Perf* list) {
    return cudnn().GetConvolutionForwardAlgorithm_v7(h, d.x, d.w, d.convolution, d.y, most, count, list);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Descriptors& d, const Perf& p, const void* one,
                           const void* zero, std::size_t bytes, const LaunchArgs& a) {
    return cudnn().ConvolutionForward(h, one, d.x, a.inputs[0], d.w, a.inputs[1], d.convolution, p.algo,
                                      a.workspace, bytes, zero, d.y, a.outputs[0]);
  }
};

struct InputGradient {
  using Perf = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr const char* kOperator = "conv2d_grad_input";
  static cudnnStatus_t ask(cudnnHandle_t h, const Descriptors& d, int most, int* count, Perf* list) {
    return cudnn().GetConvolutionBackwardDataAlgorithm_v7(h, d.w, d.y, d.convolution, d.x, most, count, list);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Descriptors& d, const Perf& p, const void* one,
                           const void* zero, std::size_t bytes, const LaunchArgs& a) {
    return cudnn().ConvolutionBackwardData(h, one, d.w, a.inputs[1], d.y, a.inputs[0], d.convolution, p.algo,
                                           a.workspace, bytes, zero, d.x, a.outputs[0]);
  }
};

struct WeightGradient {
  using Perf = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr const char* kOperator = "conv2d_grad_weight";
  static cudnnStatus_t ask(cudnnHandle_t h, const Descriptors& d, int most, int* count, Perf* list) {
    return cudnn().GetConvolutionBackwardFilterAlgorithm_v7(h, d.x, d.y, d.convolution, d.w, most, count,
                                                            list);
  }
  static cudnnStatus_t run(cudnnHandle_t h, const Descriptors& d, const Perf& p, const void* one,
                           const void* zero, std::size_t bytes, const LaunchArgs& a) {
    return cudnn().ConvolutionBackwardFilter(h, one, d.x, a.inputs[0], d.y, a.inputs[1], d.convolution,
                                             p.algo, a.workspace, bytes, zero, d.w, a.outputs[0]);
  }
};

// One problem for the library. Shared by its launchers, which must not change it: an algorithm's kind of
// arithmetic is set before every call.
struct LibraryProblem {
  Conv2d conv;
  DType dtype;
  Layout layout;
  std::size_t bytes;  // workspace
  bool deterministic, exact;
  Descriptors descriptors;
  cudnnHandle_t handle;
  cuda::Sweep sweep;

  LibraryProblem(const Problem& p, const Target& target, std::size_t workspace)
      : conv(parse_conv2d(p)),
        dtype(p.outputs[0].dtype),
        layout(conv2d_layout(p)),
        bytes(workspace),
        deterministic(target.policy.deterministic),
        exact(dtype == DType::f32 && !target.policy.tf32),
        descriptors(conv, dtype, target.policy.tf32, layout),
        handle(cudnn_handle()),
        sweep(sweep_of(p)) {}

  void finish(const LaunchArgs& a) const {
    const void* bias = conv.bias ? a.inputs[2] : nullptr;
    if (layout == Layout::nhwc)
      cuda::conv2d_finish_rows(dtype, conv.batch * conv.output_plane(), static_cast<int>(conv.maps),
                               static_cast<int>(conv.activation), bias, a.outputs[0], cuda::stream_of(a));
    else
      cuda::conv2d_finish(dtype, sweep, bias, a.outputs[0], cuda::stream_of(a));
  }
};
using Shared = std::shared_ptr<const LibraryProblem>;

// What the library suggests that sums products, fits the workspace and is as reproducible and as exact as
// asked. Its Winograd and Fourier forms round differently.
template <class Product>
std::vector<typename Product::Perf> suggestions(const LibraryProblem& w) {
  std::array<typename Product::Perf, 16> found;
  std::vector<typename Product::Perf> list;
  int count = 0;
  if (Product::ask(w.handle, w.descriptors, static_cast<int>(found.size()), &count, found.data()) !=
      CUDNN_STATUS_SUCCESS)
    return list;
  for (int i = 0; i < count; ++i) {
    const auto& p = found[static_cast<std::size_t>(i)];
    if (p.status != CUDNN_STATUS_SUCCESS || p.memory > w.bytes) continue;
    if (w.deterministic && p.determinism != CUDNN_DETERMINISTIC) continue;
    if (w.exact && p.mathType != CUDNN_FMA_MATH) continue;
    const auto known = cudnn_algorithms(Product::kOperator);
    if (std::ranges::find(known, static_cast<int>(p.algo)) != known.end()) list.push_back(p);
  }
  return list;
}

template <class Product>
Launcher launcher_of(const Shared& w, const typename Product::Perf& p) {
  return [w, p, f = Factors{}](const LaunchArgs& a) {
    const Cudnn& lib = cudnn();
    HEADROOM_CUDNN_CHECK(lib.SetStream(w->handle, cuda::stream_of(a)));
    HEADROOM_CUDNN_CHECK(lib.SetConvolutionMathType(w->descriptors.convolution, p.mathType));
    HEADROOM_CUDNN_CHECK(
        Product::run(w->handle, w->descriptors, p, f.one(w->dtype), f.zero(w->dtype), w->bytes, a));
    if constexpr (std::is_same_v<Product, Forward>) w->finish(a);
  };
}

// Bias and relu in the library's own kernel, where it has one.
Launcher fused_launcher(const Shared& w, const Forward::Perf& p) {
  return [w, p, f = Factors{}](const LaunchArgs& a) {
    const Cudnn& lib = cudnn();
    const Descriptors& d = w->descriptors;
    HEADROOM_CUDNN_CHECK(lib.SetStream(w->handle, cuda::stream_of(a)));
    HEADROOM_CUDNN_CHECK(lib.SetConvolutionMathType(d.convolution, p.mathType));
    HEADROOM_CUDNN_CHECK(lib.ConvolutionBiasActivationForward(
        w->handle, f.one(w->dtype), d.x, a.inputs[0], d.w, a.inputs[1], d.convolution, p.algo, a.workspace,
        w->bytes, f.zero(w->dtype), d.y, a.outputs[0], d.bias, a.inputs[2], d.activation, d.y, a.outputs[0]));
  };
}

// What follows the product by any other way.
Launcher finish_of(const Shared& w) {
  if (!w->conv.bias && w->conv.activation == Activation::none) return {};
  return [w](const LaunchArgs& a) { w->finish(a); };
}

CudnnMath math_of(cudnnMathType_t type) {
  return type == CUDNN_FMA_MATH                          ? CudnnMath::fma
         : type == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ? CudnnMath::convert
                                                         : CudnnMath::tensor;
}

// What the library offers for a problem by its older interface, by the names of cudnn.h; its own first
// choice stands in front as `suggested`.
template <class Product>
std::map<std::string, Launcher> offers_of(const Shared& w) {
  std::map<std::string, Launcher> offers;
  for (const auto& p : suggestions<Product>(*w)) {
    offers.try_emplace(kSuggested, launcher_of<Product>(w, p));
    offers.try_emplace(cudnn_algorithm_name(static_cast<int>(p.algo), math_of(p.mathType)),
                       launcher_of<Product>(w, p));
    if constexpr (std::is_same_v<Product, Forward>)
      if (w->conv.bias && p.algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
        offers.try_emplace(kFusedBias, fused_launcher(w, p));
  }
  return offers;
}

// A problem as both interfaces of the library see it, each asked on first use. The tuner asks for the
// candidates of one problem one after the other: the last problem is kept.
struct Offers {
  std::string key;
  Shared problem;
  std::optional<std::map<std::string, Launcher>> algorithms;
  std::unique_ptr<CudnnHeuristics> heuristics;

  static Offers& of(const Problem& p, const Target& target) {
    static thread_local Offers& last = *new Offers;  // never destroyed: the driver may be gone before it is
    const std::string key = fmt::format("{} {} {}", p.str(), target.policy.tf32, target.policy.deterministic);
    if (last.key == key && last.problem->handle == cudnn_handle()) return last;
    last = {};
    last.problem = std::make_shared<const LibraryProblem>(p, target, cudnn_workspace(p, target));
    last.key = key;
    return last;
  }

  // Null where the library has no algorithm of this name.
  Launcher algorithm(const Problem& p, const std::string& name) {
    if (!algorithms)
      algorithms = p.op == "conv2d_grad_input"    ? offers_of<InputGradient>(problem)
                   : p.op == "conv2d_grad_weight" ? offers_of<WeightGradient>(problem)
                                                  : offers_of<Forward>(problem);
    const auto it = algorithms->find(name);
    return it == algorithms->end() ? Launcher() : it->second;
  }

  Launcher heuristic(const Problem& p, const Target& target, std::size_t rank) {
    if (heuristics == nullptr)
      heuristics = std::make_unique<CudnnHeuristics>(p, target.policy.deterministic, problem->bytes);
    return heuristics->launcher(rank, finish_of(problem));
  }
};

// Null where the library has no such algorithm.
Launcher library_launcher(const Problem& p, const Target& target, const std::string& variant) {
  Offers& offers = Offers::of(p, target);
  const bool nhwc = conv2d_layout(p) == Layout::nhwc;
  if (variant.starts_with(kHeuristic))
    return nhwc ? offers.heuristic(p, target, std::stoul(variant.substr(std::string_view(kHeuristic).size())))
                : Launcher();
  if (Launcher algorithm = offers.algorithm(p, variant)) return algorithm;
  return nhwc && variant == kSuggested ? offers.heuristic(p, target, 0) : Launcher();
}

Launcher folded_launcher(const Problem& p, const LaunchContext& context) {
  const std::size_t slash = context.variant.find('/');
  if (slash == std::string::npos) return {};
  for (const FoldedConv2d& folded : conv2d_folded(p, context.target))
    if (context.variant.substr(0, slash) == folded.name) {
      LaunchContext inner = context;
      inner.variant = context.variant.substr(slash + 1);
      return prepare_folded(folded, inner);
    }
  return {};
}

}  // namespace

Launcher prepare_conv2d_cudnn(const Problem& p, const LaunchContext& context) {
  const std::string variant = context.variant.empty() ? kSuggested : context.variant;
  if (variant == kOwnImplicit) return own_convolution(p, context.target).prepare(p, context);
  if (variant == kAsProduct) return conv2d_cuda_as_linear().prepare(p, context);
  if (variant == kNchwCopies) return prepare_nchw_copies(p, context);
  if (Launcher folded = folded_launcher(p, context)) return folded;
  if (Launcher library = library_launcher(p, context.target, variant)) return library;
  throw Error(Blame::run, fmt::format("cuDNN has no algorithm '{}' for {}", variant, p.str()),
              Hint{"try `layout` nchw, or `kernel` conv2d=cuda:implicit_gemm"});
}

}  // namespace headroom

#endif
