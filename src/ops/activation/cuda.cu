#include "ops/activation/cuda.h"
#include "ops/cuda/map.cuh"

namespace headroom::cuda {
namespace {

struct Relu {
  template <class C>
  __device__ C operator()(C x) const {
    return x < 0 ? C{0} : x;
  }
  template <class C>
  __device__ C operator()(C dy, C y) const {
    return y > 0 ? dy : C{0};
  }
};

struct Sigmoid {
  template <class C>
  __device__ C operator()(C x) const {
    return C{1} / (C{1} + exp(-x));
  }
  template <class C>
  __device__ C operator()(C dy, C y) const {
    return dy * (y * (C{1} - y));
  }
};

struct Tanh {
  template <class C>
  __device__ C operator()(C x) const {
    return tanh(x);
  }
  template <class C>
  __device__ C operator()(C dy, C y) const {
    return dy * (C{1} - y * y);
  }
};

template <class T, class F>
void run(std::int64_t n, const void* in, const void* y, void* out, cudaStream_t stream) {
  const auto *x = static_cast<const T*>(in), *v = static_cast<const T*>(y);
  if (y == nullptr)
    map<T, 1>(n, {{x}, static_cast<T*>(out)}, F{}, stream);
  else
    map<T, 2>(n, {{x, v}, static_cast<T*>(out)}, F{}, stream);
}

}  // namespace

void activate(DType dtype, Curve curve, std::int64_t n, const void* in, const void* y, void* out,
              cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    switch (curve) {
      case Curve::relu:
        return run<T, Relu>(n, in, y, out, stream);
      case Curve::sigmoid:
        return run<T, Sigmoid>(n, in, y, out, stream);
      case Curve::tanh:
        return run<T, Tanh>(n, in, y, out, stream);
    }
  });
}

}  // namespace headroom::cuda
