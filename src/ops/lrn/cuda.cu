// A thread for each element looks at the channels around it: neighbours of the same place, which the cache
// holds.
#include "ops/cuda/index.cuh"
#include "ops/lrn/cuda.h"

namespace headroom::cuda {
namespace {

__device__ inline float power(float x, float y) { return powf(x, y); }
__device__ inline double power(double x, double y) { return pow(x, y); }

// s^-beta. The usual exponent is two square roots, several times cheaper than a power.
template <class C>
__device__ C quotient(const Lrn& p, C s) {
  if (p.beta == 0.75) {
    const C root = sqrt(s);
    return 1 / (root * sqrt(root));
  }
  return power(s, static_cast<C>(-p.beta));
}

struct LrnPlace {
  std::int64_t channel, column;  // column: of channel 0, so that channel c lies at column + c * plane
};
__device__ LrnPlace place_of(const Lrn& p, std::int64_t i) {
  const Cut plane = cut(i, p.plane), row = cut(plane.whole, p.channels);
  return {row.rest, row.whole * p.channels * p.plane + plane.rest};
}

template <class T>
__device__ Compute<T> scale_at(const Lrn& p, const LrnPlace& at, const T* x) {
  using C = Compute<T>;
  const std::int64_t first = at.channel > p.before ? at.channel - p.before : 0,
                     last = at.channel + p.after < p.channels ? at.channel + p.after : p.channels - 1;
  C sum = 0;
  for (std::int64_t c = first; c <= last; ++c) {
    const C v = widen(x[at.column + c * p.plane]);
    sum += v * v;
  }
  return static_cast<C>(p.bias) + static_cast<C>(p.factor) * sum;
}

template <class T>
__global__ void __launch_bounds__(kThreads) normalise(Lrn p, std::int64_t n, const T* x, T* y) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count())
    y[i] = narrow<T>(widen(x[i]) * quotient(p, scale_at(p, place_of(p, i), x)));
}

// direct = dy s^-beta, passed = dy x s^(-beta - 1): what an output gives to itself and to its window.
template <class T>
__global__ void __launch_bounds__(kThreads)
    prepare_grad(Lrn p, std::int64_t n, const T* dy, const T* x, Compute<T>* direct, Compute<T>* passed) {
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Compute<T> s = scale_at(p, place_of(p, i), x), own = widen(dy[i]) * quotient(p, s);
    direct[i] = own, passed[i] = own * widen(x[i]) / s;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    gather_grad(Lrn p, std::int64_t n, const T* x, const Compute<T>* direct, const Compute<T>* passed,
                T* dx) {
  using C = Compute<T>;
  const C factor = static_cast<C>(2 * p.factor * p.beta);
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const LrnPlace at = place_of(p, i);
    // Those whose window holds this channel: before and after change places.
    const std::int64_t first = at.channel > p.after ? at.channel - p.after : 0,
                       last = at.channel + p.before < p.channels ? at.channel + p.before : p.channels - 1;
    C sum = 0;
    for (std::int64_t c = first; c <= last; ++c) sum += passed[at.column + c * p.plane];
    dx[i] = narrow<T>(direct[i] - factor * widen(x[i]) * sum);
  }
}

}  // namespace

void lrn(DType dtype, const Lrn& p, const void* x, void* y, cudaStream_t stream) {
  const std::int64_t n = p.rows * p.channels * p.plane;
  dispatch_floats(dtype, [&]<class T>() {
    normalise<<<blocks_striding(n), kThreads, 0, stream>>>(p, n, static_cast<const T*>(x),
                                                           static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

void lrn_grad(DType dtype, const Lrn& p, const void* dy, const void* x, void* workspace, void* dx,
              cudaStream_t stream) {
  const std::int64_t n = p.rows * p.channels * p.plane;
  dispatch_floats(dtype, [&]<class T>() {
    auto* direct = static_cast<Compute<T>*>(workspace);
    auto* passed = direct + n;
    prepare_grad<<<blocks_striding(n), kThreads, 0, stream>>>(p, n, static_cast<const T*>(dy),
                                                              static_cast<const T*>(x), direct, passed);
    HEADROOM_CUDA_LAUNCHED();
    gather_grad<<<blocks_striding(n), kThreads, 0, stream>>>(p, n, static_cast<const T*>(x), direct, passed,
                                                             static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
