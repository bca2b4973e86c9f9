// Passes over planes of one number a pixel, a thread for each: channels added up, windows along rows, windows
// along columns.
#include "ops/local_contrast_norm/cuda.h"

#include "ops/cuda/index.cuh"

namespace headroom::cuda {
namespace {

template <class T>
struct Planes {
  using C = Compute<T>;
  Contrast p;
  const T *x, *dy;
  T* out;
  C *mean, *deviation;             // of the windows around each pixel
  C *sums, *rows, *back, *square;  // between passes; square: the gradient of v^2
  C *least, *of_mean;              // for each image: the mean deviation, and its gradient

  __device__ std::int64_t pixels() const { return p.height * p.width; }
  // Channel 0 of pixel i of all images.
  __device__ std::int64_t first(std::int64_t i) const {
    const Cut image = cut(i, pixels());
    return image.whole * p.channels * pixels() + image.rest;
  }
  __device__ C inverse(std::int64_t i) const {
    const C s = deviation[i], m = least[cut(i, pixels()).whole], d = s > m ? s : m;
    return d == 0 ? C{0} : 1 / d;
  }
  __device__ C weight(std::int64_t k) const {
    const C at = static_cast<C>(4 * k) / static_cast<C>(2 * p.reach + 1);
    return exp(-at * at / 2);
  }
  // The weights that lie inside, of a window around `at`.
  __device__ C inside(std::int64_t at, std::int64_t extent) const {
    C sum = 0;
    for (std::int64_t k = -p.reach; k <= p.reach; ++k)
      if (at + k >= 0 && at + k < extent) sum += weight(k);
    return sum;
  }
  __device__ C share(std::int64_t i) const {
    const Cut row = cut(cut(i, pixels()).rest, p.width);
    return 1 / (inside(row.whole, p.height) * inside(row.rest, p.width) * static_cast<C>(p.channels));
  }
};

// What each pass does to pixel i; `step` is how far neighbours of a window lie apart.
enum class Pass { add_x, add_squares, add_products, add_gradients, write_y, write_dx };

template <Pass kPass, class T>
__device__ void run_pass(const Planes<T>& a, std::int64_t i) {
  using C = Compute<T>;
  const std::int64_t first = a.first(i), step = a.pixels();
  C sum = 0;
  for (std::int64_t c = 0; c < a.p.channels; ++c) {
    const std::int64_t at = first + c * step;
    const C x = widen(a.x[at]), v = kPass == Pass::add_x ? C{0} : x - a.mean[i];
    if constexpr (kPass == Pass::add_x) sum += x;
    if constexpr (kPass == Pass::add_squares) sum += v * v;
    if constexpr (kPass == Pass::add_products) sum -= C(widen(a.dy[at])) * v;
    if constexpr (kPass == Pass::write_y) a.out[at] = narrow<T>(v * a.inverse(i));
    if constexpr (kPass == Pass::add_gradients || kPass == Pass::write_dx) {
      const C dv = C(widen(a.dy[at])) * a.inverse(i) + 2 * v * a.square[i];
      sum += dv;
      if constexpr (kPass == Pass::write_dx) a.out[at] = narrow<T>(dv - a.back[i]);
    }
  }
  if constexpr (kPass == Pass::add_x || kPass == Pass::add_squares) a.sums[i] = sum;
  if constexpr (kPass == Pass::add_gradients) a.sums[i] = sum * a.share(i);
  if constexpr (kPass == Pass::add_products) a.sums[i] = sum * a.inverse(i) * a.inverse(i);
}

template <Pass kPass, class T>
__global__ void __launch_bounds__(kThreads) pass_over(const __grid_constant__ Planes<T> a) {
  const std::int64_t n = a.p.images * a.pixels();
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) run_pass<kPass>(a, i);
}

// to = the windows of `from` along rows or columns; with `mean` divided by the weights inside, with `root`
// the root of that.
template <class T>
__global__ void __launch_bounds__(kThreads) slide(const __grid_constant__ Planes<T> a, const Compute<T>* from,
                                                  Compute<T>* to, bool down, bool mean, bool root) {
  using C = Compute<T>;
  const std::int64_t n = a.p.images * a.pixels();
  const std::int64_t extent = down ? a.p.height : a.p.width, step = down ? a.p.width : 1;
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const Cut row = cut(cut(i, a.pixels()).rest, a.p.width);
    const std::int64_t at = down ? row.whole : row.rest;
    C sum = 0;
    for (std::int64_t k = -a.p.reach; k <= a.p.reach; ++k)
      if (at + k >= 0 && at + k < extent) sum += a.weight(k) * from[i + k * step];
    if (mean) sum *= a.share(i);
    to[i] = root ? sqrt(sum) : sum;
  }
}

// A block for each image: its mean deviation, or the gradient of that, which then goes on to all deviations.
template <class T>
__global__ void __launch_bounds__(kThreads) reduce(const __grid_constant__ Planes<T> a, bool gradient) {
  using C = Compute<T>;
  __shared__ C part[kThreads];
  const std::int64_t pixels = a.pixels(), first = std::int64_t{blockIdx.x} * pixels;
  C sum = 0;
  for (std::int64_t q = threadIdx.x; q < pixels; q += kThreads) {
    if (!gradient)
      sum += a.deviation[first + q];
    else if (!(a.deviation[first + q] > a.least[blockIdx.x]))
      sum += a.sums[first + q];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) (gradient ? a.of_mean : a.least)[blockIdx.x] = part[0] / static_cast<C>(pixels);
}

// sums: from the gradients of the divisors to those of the windows of v^2, divided by the weights inside.
template <class T>
__global__ void __launch_bounds__(kThreads) through_root(const __grid_constant__ Planes<T> a) {
  using C = Compute<T>;
  const std::int64_t n = a.p.images * a.pixels();
  for (std::int64_t i = thread_number(); i < n; i += thread_count()) {
    const std::int64_t image = cut(i, a.pixels()).whole;
    const C s = a.deviation[i], own = s > a.least[image] ? a.sums[i] : C{0};
    a.sums[i] = s == 0 ? C{0} : (own + a.of_mean[image]) / (2 * s) * a.share(i);
  }
}

template <class T>
class Passes {
 public:
  using C = Compute<T>;
  Passes(const Contrast& p, const void* x, const void* dy, void* workspace, void* out, cudaStream_t stream)
      : stream_(stream), n_(p.images * p.height * p.width) {
    auto* w = static_cast<C*>(workspace);
    a_ = {p,
          static_cast<const T*>(x),
          static_cast<const T*>(dy),
          static_cast<T*>(out),
          w,
          w + n_,
          w + 2 * n_,
          w + 3 * n_,
          w + 4 * n_,
          w + 5 * n_,
          w + 6 * n_,
          w + 6 * n_ + p.images};
    over<Pass::add_x>();
    windows(a_.mean, true, false);
    over<Pass::add_squares>();
    windows(a_.deviation, true, true);
    reduce_images(false);
  }
  void forward() { over<Pass::write_y>(); }
  void backward() {
    over<Pass::add_products>();
    reduce_images(true);
    through_root<<<blocks_striding(n_), kThreads, 0, stream_>>>(a_);
    HEADROOM_CUDA_LAUNCHED();
    windows(a_.square, false, false);
    over<Pass::add_gradients>();
    windows(a_.back, false, false);
    over<Pass::write_dx>();
  }

 private:
  template <Pass kPass>
  void over() {
    pass_over<kPass><<<blocks_striding(n_), kThreads, 0, stream_>>>(a_);
    HEADROOM_CUDA_LAUNCHED();
  }
  void windows(C* to, bool mean, bool root) {
    slide<<<blocks_striding(n_), kThreads, 0, stream_>>>(a_, a_.sums, a_.rows, false, false, false);
    HEADROOM_CUDA_LAUNCHED();
    slide<<<blocks_striding(n_), kThreads, 0, stream_>>>(a_, a_.rows, to, true, mean, root);
    HEADROOM_CUDA_LAUNCHED();
  }
  void reduce_images(bool gradient) {
    reduce<<<static_cast<unsigned>(a_.p.images), kThreads, 0, stream_>>>(a_, gradient);
    HEADROOM_CUDA_LAUNCHED();
  }

  Planes<T> a_;
  cudaStream_t stream_;
  std::int64_t n_;
};

}  // namespace

void local_contrast_norm(DType dtype, const Contrast& p, const void* x, void* workspace, void* y,
                         cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { Passes<T>(p, x, nullptr, workspace, y, stream).forward(); });
}

void local_contrast_norm_grad(DType dtype, const Contrast& p, const void* dy, const void* x, void* workspace,
                              void* dx, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { Passes<T>(p, x, dy, workspace, dx, stream).backward(); });
}

}  // namespace headroom::cuda
