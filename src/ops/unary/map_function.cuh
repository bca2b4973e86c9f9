#pragma once

#include "ops/cuda/map.cuh"
#include "ops/unary/cuda.h"

namespace headroom::cuda {

// S is a struct of scalar.h.
template <class S>
struct Forward {
  Knobs<double> knobs;
  template <class C>
  __device__ C operator()(C x) const {
    return S::template at<C>(x, {static_cast<C>(knobs.a), static_cast<C>(knobs.b)});
  }
};

template <class S>
struct Backward {
  Knobs<double> knobs;
  template <class C>
  __device__ C operator()(C dy, C v) const {
    return dy * S::template slope<C>(v, {static_cast<C>(knobs.a), static_cast<C>(knobs.b)});
  }
};

struct UnaryCall {
  DType dtype;
  Knobs<double> knobs;
  std::int64_t n;
  const void *in, *v;
  void* out;
  cudaStream_t stream;

  template <class S>
  void forward() const {
    dispatch_floats(dtype, [&]<class T>() {
      map<T, 1>(n, {{static_cast<const T*>(in)}, static_cast<T*>(out)}, Forward<S>{knobs}, stream);
    });
  }
  template <class S>
  void either() const {
    if (v == nullptr) return forward<S>();
    dispatch_floats(dtype, [&]<class T>() {
      map<T, 2>(n, {{static_cast<const T*>(in), static_cast<const T*>(v)}, static_cast<T*>(out)},
                Backward<S>{knobs}, stream);
    });
  }
};

}  // namespace headroom::cuda
