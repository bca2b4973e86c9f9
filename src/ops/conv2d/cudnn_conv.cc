// Convolutions by NVIDIA's library, loaded on first use. Sums of products only: its Winograd and Fourier
// forms round differently. It knows padding that is equal at both ends, and neither bias nor activation here:
// those are one pass over the output.
#ifdef HEADROOM_HAS_CUDNN

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/cuda/library.h"
#include "ops/conv2d/cuda.h"
#include "ops/conv2d/plans.h"
#include "ops/cuda/launch.h"

// The plain calls are marked as old; they are all that is needed, and in every version since 8.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace headroom {
namespace {

struct Cudnn {
#define HEADROOM_CUDNN_CALL(name) decltype(::cudnn##name)* name = nullptr
  HEADROOM_CUDNN_CALL(Create);
  HEADROOM_CUDNN_CALL(SetStream);
  HEADROOM_CUDNN_CALL(GetErrorString);
  HEADROOM_CUDNN_CALL(CreateTensorDescriptor);
  HEADROOM_CUDNN_CALL(DestroyTensorDescriptor);
  HEADROOM_CUDNN_CALL(SetTensor4dDescriptor);
  HEADROOM_CUDNN_CALL(CreateFilterDescriptor);
  HEADROOM_CUDNN_CALL(DestroyFilterDescriptor);
  HEADROOM_CUDNN_CALL(SetFilter4dDescriptor);
  HEADROOM_CUDNN_CALL(CreateConvolutionDescriptor);
  HEADROOM_CUDNN_CALL(DestroyConvolutionDescriptor);
  HEADROOM_CUDNN_CALL(SetConvolution2dDescriptor);
  HEADROOM_CUDNN_CALL(SetConvolutionMathType);
  HEADROOM_CUDNN_CALL(SetConvolutionGroupCount);
  HEADROOM_CUDNN_CALL(GetConvolutionForwardAlgorithm_v7);
  HEADROOM_CUDNN_CALL(GetConvolutionBackwardDataAlgorithm_v7);
  HEADROOM_CUDNN_CALL(GetConvolutionBackwardFilterAlgorithm_v7);
  HEADROOM_CUDNN_CALL(ConvolutionForward);
  HEADROOM_CUDNN_CALL(ConvolutionBackwardData);
  HEADROOM_CUDNN_CALL(ConvolutionBackwardFilter);
#undef HEADROOM_CUDNN_CALL
};

Cudnn load() {
  constexpr const char* kInstead = "install cuDNN 9, or choose --kernel conv2d=cuda:implicit_gemm";
  const cuda::Library library(cuda::cudnn_names());
  if (!library.loaded())
    throw Error(Blame::run, fmt::format("cuDNN cannot be loaded: {}", library.why_not()), Hint{kInstead});
  Cudnn c;
#define HEADROOM_CUDNN_FIND(name)           \
  if (!library.find(c.name, "cudnn" #name)) \
  throw Error(Blame::run, "cuDNN has no function cudnn" #name, Hint{kInstead})
  HEADROOM_CUDNN_FIND(Create);
  HEADROOM_CUDNN_FIND(SetStream);
  HEADROOM_CUDNN_FIND(GetErrorString);
  HEADROOM_CUDNN_FIND(CreateTensorDescriptor);
  HEADROOM_CUDNN_FIND(DestroyTensorDescriptor);
  HEADROOM_CUDNN_FIND(SetTensor4dDescriptor);
  HEADROOM_CUDNN_FIND(CreateFilterDescriptor);
  HEADROOM_CUDNN_FIND(DestroyFilterDescriptor);
  HEADROOM_CUDNN_FIND(SetFilter4dDescriptor);
  HEADROOM_CUDNN_FIND(CreateConvolutionDescriptor);
  HEADROOM_CUDNN_FIND(DestroyConvolutionDescriptor);
  HEADROOM_CUDNN_FIND(SetConvolution2dDescriptor);
  HEADROOM_CUDNN_FIND(SetConvolutionMathType);
  HEADROOM_CUDNN_FIND(SetConvolutionGroupCount);
  HEADROOM_CUDNN_FIND(GetConvolutionForwardAlgorithm_v7);
  HEADROOM_CUDNN_FIND(GetConvolutionBackwardDataAlgorithm_v7);
  HEADROOM_CUDNN_FIND(GetConvolutionBackwardFilterAlgorithm_v7);
  HEADROOM_CUDNN_FIND(ConvolutionForward);
  HEADROOM_CUDNN_FIND(ConvolutionBackwardData);
  HEADROOM_CUDNN_FIND(ConvolutionBackwardFilter);
#undef HEADROOM_CUDNN_FIND
  return c;
}

const Cudnn& cudnn() {
  static const Cudnn c = load();
  return c;
}

void check(cudnnStatus_t status, const char* call) {
  if (status != CUDNN_STATUS_SUCCESS) fail("cuDNN: {}: {}", call, cudnn().GetErrorString(status));
}
#define HEADROOM_CUDNN_CHECK(call) check((call), #call)

cudnnHandle_t handle() {
  static std::mutex mutex;
  static std::map<int, cudnnHandle_t> handles;  // never destroyed: the driver may be gone before statics are
  int device = 0;
  HEADROOM_CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  cudnnHandle_t& h = handles[device];
  if (h == nullptr) HEADROOM_CUDNN_CHECK(cudnn().Create(&h));
  return h;
}

cudnnDataType_t type_of(DType dtype) {
  return dtype == DType::f64    ? CUDNN_DATA_DOUBLE
         : dtype == DType::f16  ? CUDNN_DATA_HALF
         : dtype == DType::bf16 ? CUDNN_DATA_BFLOAT16
                                : CUDNN_DATA_FLOAT;
}

// The descriptors of one convolution, freed with the launcher that holds them.
struct Descriptors {
  cudnnTensorDescriptor_t x = nullptr, y = nullptr;
  cudnnFilterDescriptor_t w = nullptr;
  cudnnConvolutionDescriptor_t convolution = nullptr;

  Descriptors(const Conv2d& c, DType dtype, bool tf32) {
    const auto i = [](std::int64_t v) { return static_cast<int>(v); };
    const Window2d& v = c.window;
    const Cudnn& d = cudnn();
    const cudnnDataType_t type = type_of(dtype);
    HEADROOM_CUDNN_CHECK(d.CreateTensorDescriptor(&x));
    HEADROOM_CUDNN_CHECK(d.CreateTensorDescriptor(&y));
    HEADROOM_CUDNN_CHECK(d.CreateFilterDescriptor(&w));
    HEADROOM_CUDNN_CHECK(d.CreateConvolutionDescriptor(&convolution));
    HEADROOM_CUDNN_CHECK(d.SetTensor4dDescriptor(x, CUDNN_TENSOR_NCHW, type, i(c.batch), i(c.channels),
                                                 i(v.input.h), i(v.input.w)));
    HEADROOM_CUDNN_CHECK(d.SetTensor4dDescriptor(y, CUDNN_TENSOR_NCHW, type, i(c.batch), i(c.maps),
                                                 i(v.output.h), i(v.output.w)));
    HEADROOM_CUDNN_CHECK(d.SetFilter4dDescriptor(w, type, CUDNN_TENSOR_NCHW, i(c.maps), i(c.group_channels()),
                                                 i(v.kernel.h), i(v.kernel.w)));
    HEADROOM_CUDNN_CHECK(d.SetConvolution2dDescriptor(
        convolution, i(v.pad.h), i(v.pad.w), i(v.stride.h), i(v.stride.w), i(v.dilation.h), i(v.dilation.w),
        CUDNN_CROSS_CORRELATION, dtype == DType::f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT));
    const bool exact = dtype == DType::f64 || (dtype == DType::f32 && !tf32);
    HEADROOM_CUDNN_CHECK(
        d.SetConvolutionMathType(convolution, exact ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH));
    HEADROOM_CUDNN_CHECK(d.SetConvolutionGroupCount(convolution, i(c.groups)));
  }
  ~Descriptors() {
    const Cudnn& d = cudnn();
    if (convolution != nullptr) d.DestroyConvolutionDescriptor(convolution);
    if (w != nullptr) d.DestroyFilterDescriptor(w);
    if (y != nullptr) d.DestroyTensorDescriptor(y);
    if (x != nullptr) d.DestroyTensorDescriptor(x);
  }
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
};

// The first of the library's suggestions, fastest first by its own estimate, that sums products, fits the
// workspace and is as reproducible and as exact as asked.
template <class Perf>
struct Wishes {
  std::size_t workspace;
  bool deterministic, exact;
  std::span<const int> algorithms;

  template <class Ask>
  const Perf* pick(const Ask& ask, std::array<Perf, 16>& found) const {
    int count = 0;
    if (ask(static_cast<int>(found.size()), &count, found.data()) != CUDNN_STATUS_SUCCESS) return nullptr;
    for (int i = 0; i < count; ++i) {
      const Perf& p = found[static_cast<std::size_t>(i)];
      if (p.status != CUDNN_STATUS_SUCCESS || p.memory > workspace) continue;
      if (deterministic && p.determinism != CUDNN_DETERMINISTIC) continue;
      if (exact && p.mathType != CUDNN_FMA_MATH) continue;
      if (std::find(algorithms.begin(), algorithms.end(), static_cast<int>(p.algo)) != algorithms.end())
        return &p;
    }
    return nullptr;
  }
};

constexpr int kForward[] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
                            CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_CONVOLUTION_FWD_ALGO_GEMM,
                            CUDNN_CONVOLUTION_FWD_ALGO_DIRECT};
constexpr int kData[] = {CUDNN_CONVOLUTION_BWD_DATA_ALGO_0, CUDNN_CONVOLUTION_BWD_DATA_ALGO_1};
constexpr int kFilter[] = {CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1,
                           CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3};

// Factors of the product and of what was there before, in the type of the sum.
struct Factors {
  double wide[2] = {1, 0};
  float single[2] = {1, 0};
  const void* one(DType dtype) const { return dtype == DType::f64 ? static_cast<const void*>(wide) : single; }
  const void* zero(DType dtype) const {
    return dtype == DType::f64 ? static_cast<const void*>(wide + 1) : single + 1;
  }
};

}  // namespace

Launcher prepare_conv2d_cudnn(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  const DType dtype = p.outputs[0].dtype;
  const std::size_t bytes = workspace_conv2d_cudnn(p, capabilities);
  const bool exact = dtype == DType::f32 && !capabilities.tf32;
  const auto d = std::make_shared<const Descriptors>(c, dtype, capabilities.tf32);
  const cudnnHandle_t h = handle();
  const Cudnn& lib = cudnn();
  // Nothing suitable in this version of the library: our own kernel takes every problem that comes here.
  const auto own = [&] { return prepare_conv2d_cuda_implicit(p, capabilities); };

  if (p.op == "conv2d_grad_input") {
    std::array<cudnnConvolutionBwdDataAlgoPerf_t, 16> found;
    const auto* best =
        Wishes<cudnnConvolutionBwdDataAlgoPerf_t>{bytes, capabilities.deterministic, exact, kData}.pick(
            [&](int most, int* count, auto* list) {
              return lib.GetConvolutionBackwardDataAlgorithm_v7(h, d->w, d->y, d->convolution, d->x, most,
                                                                count, list);
            },
            found);
    if (best == nullptr) return own();
    HEADROOM_CUDNN_CHECK(lib.SetConvolutionMathType(d->convolution, best->mathType));
    return [d, h, dtype, bytes, algo = best->algo, f = Factors{}](const LaunchArgs& a) {
      HEADROOM_CUDNN_CHECK(cudnn().SetStream(h, cuda::stream_of(a)));
      HEADROOM_CUDNN_CHECK(cudnn().ConvolutionBackwardData(h, f.one(dtype), d->w, a.inputs[1], d->y,
                                                           a.inputs[0], d->convolution, algo, a.workspace,
                                                           bytes, f.zero(dtype), d->x, a.outputs[0]));
    };
  }
  if (p.op == "conv2d_grad_weight") {
    std::array<cudnnConvolutionBwdFilterAlgoPerf_t, 16> found;
    const auto* best =
        Wishes<cudnnConvolutionBwdFilterAlgoPerf_t>{bytes, capabilities.deterministic, exact, kFilter}.pick(
            [&](int most, int* count, auto* list) {
              return lib.GetConvolutionBackwardFilterAlgorithm_v7(h, d->x, d->y, d->convolution, d->w, most,
                                                                  count, list);
            },
            found);
    if (best == nullptr) return own();
    HEADROOM_CUDNN_CHECK(lib.SetConvolutionMathType(d->convolution, best->mathType));
    return [d, h, dtype, bytes, algo = best->algo, f = Factors{}](const LaunchArgs& a) {
      HEADROOM_CUDNN_CHECK(cudnn().SetStream(h, cuda::stream_of(a)));
      HEADROOM_CUDNN_CHECK(cudnn().ConvolutionBackwardFilter(h, f.one(dtype), d->x, a.inputs[0], d->y,
                                                             a.inputs[1], d->convolution, algo, a.workspace,
                                                             bytes, f.zero(dtype), d->w, a.outputs[0]));
    };
  }
  std::array<cudnnConvolutionFwdAlgoPerf_t, 16> found;
  const auto* best =
      Wishes<cudnnConvolutionFwdAlgoPerf_t>{bytes, capabilities.deterministic, exact, kForward}.pick(
          [&](int most, int* count, auto* list) {
            return lib.GetConvolutionForwardAlgorithm_v7(h, d->x, d->w, d->convolution, d->y, most, count,
                                                         list);
          },
          found);
  if (best == nullptr) return own();
  HEADROOM_CUDNN_CHECK(lib.SetConvolutionMathType(d->convolution, best->mathType));
  return [d, h, dtype, bytes, algo = best->algo, f = Factors{}, s = sweep_of(p),
          bias = c.bias](const LaunchArgs& a) {
    HEADROOM_CUDNN_CHECK(cudnn().SetStream(h, cuda::stream_of(a)));
    HEADROOM_CUDNN_CHECK(cudnn().ConvolutionForward(h, f.one(dtype), d->x, a.inputs[0], d->w, a.inputs[1],
                                                    d->convolution, algo, a.workspace, bytes, f.zero(dtype),
                                                    d->y, a.outputs[0]));
    cuda::conv2d_finish(dtype, s, bias ? a.inputs[2] : nullptr, a.outputs[0], cuda::stream_of(a));
  };
}

}  // namespace headroom

#endif
