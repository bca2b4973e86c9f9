// Convolutions by NVIDIA's library, loaded on first use. It knows padding that is equal at both ends. Of NHWC
// several ways are timed, and products of one tap are also those of matrices; of NCHW its first suggestion is
// taken, and bias and activation are one pass over the output.
#ifdef HEADROOM_HAS_CUDNN

#include <algorithm>
#include <array>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/error.h"
#include "ops/conv2d/cuda.h"
#include "ops/conv2d/cudnn_library.h"
#include "ops/conv2d/cudnn_plans.h"
#include "ops/conv2d/plans.h"
#include "ops/cuda/fastest.h"
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
struct Forward {
  using Perf = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr int kAlgorithms[] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                                        CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
                                        CUDNN_CONVOLUTION_FWD_ALGO_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_DIRECT};
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
  static constexpr int kAlgorithms[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
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
  static constexpr int kAlgorithms[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0,
                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
                                        CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3};
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

  LibraryProblem(const Problem& p, const Capabilities& capabilities, std::size_t workspace)
      : conv(parse_conv2d(p)),
        dtype(p.outputs[0].dtype),
        layout(conv2d_layout(p)),
        bytes(workspace),
        deterministic(capabilities.deterministic),
        exact(dtype == DType::f32 && !capabilities.tf32),
        descriptors(conv, dtype, capabilities.tf32, layout),
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
    if (std::ranges::find(Product::kAlgorithms, static_cast<int>(p.algo)) != std::end(Product::kAlgorithms))
      list.push_back(p);
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

// All suggestions where timing may choose, else the first.
template <class Product>
std::vector<cuda::Way> ways_of(const Shared& w) {
  std::vector<cuda::Way> ways;
  for (const auto& p : suggestions<Product>(*w)) {
    if (!ways.empty() && (w->deterministic || w->layout == Layout::nchw)) break;
    ways.push_back({fmt::format("algorithm {}", static_cast<int>(p.algo)), launcher_of<Product>(w, p)});
    if constexpr (std::is_same_v<Product, Forward>)
      if (w->layout == Layout::nhwc && !w->deterministic && w->conv.bias &&
          p.algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM &&
          (w->conv.activation == Activation::relu || w->conv.activation == Activation::none))
        ways.push_back({"algorithm 1 with bias", fused_launcher(w, p)});
  }
  return ways;
}

}  // namespace

Launcher prepare_conv2d_cudnn(const Problem& p, const Capabilities& capabilities) {
  const std::size_t bytes = workspace_conv2d_cudnn(p, capabilities);
  const auto plain_ways = [&](const Shared& w) {
    return p.op == "conv2d_grad_input"    ? ways_of<InputGradient>(w)
           : p.op == "conv2d_grad_weight" ? ways_of<WeightGradient>(w)
                                          : ways_of<Forward>(w);
  };
  if (conv2d_layout(p) == Layout::nchw) {
    std::vector<cuda::Way> ways = plain_ways(std::make_shared<const LibraryProblem>(p, capabilities, bytes));
    // Nothing suitable in this version of the library: our own kernel takes every problem that comes here.
    return ways.empty() ? prepare_conv2d_cuda_implicit(p, capabilities) : std::move(ways[0].run);
  }
  // All that decides between the ways: a network has the same problem many times.
  const std::string key =
      fmt::format("{} workspace {}{}", p.str(), bytes, capabilities.deterministic ? " deterministic" : "");
  return cuda::fastest(key, [&] {
    const auto w = std::make_shared<const LibraryProblem>(p, capabilities, bytes);
    std::vector<cuda::Way> ways = plain_ways(w);
    for (Launcher& plan : cudnn_plans(p, capabilities, bytes, finish_of(w)))
      ways.push_back({fmt::format("plan {}", ways.size()), std::move(plan)});
    if (accepts_conv2d_pointwise(p, capabilities).ok)
      ways.push_back({"product", prepare_conv2d_cuda_as_linear(p, capabilities)});
    if (may_be_turned(p)) ways.push_back({"turned over", prepare_conv2d_cuda_turned(p, capabilities)});
    for (const FoldedConv2d& folded : conv2d_folded(p, capabilities))
      ways.push_back({folded.name, prepare_conv2d_cuda_folded(folded, capabilities)});
    if (ways.empty())
      throw Error(Blame::run, fmt::format("cuDNN has no algorithm for {}", p.str()),
                  Hint{"try `layout` nchw"});
    if (capabilities.deterministic) ways.erase(ways.begin() + 1, ways.end());  // no choice by timing
    return ways;
  });
}

}  // namespace headroom

#endif
