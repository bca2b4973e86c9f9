#include "ops/binary/cuda/stretch.h"

#include "ops/cuda/stretch.cuh"

namespace headroom::cuda {
namespace {

struct Add {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a + b;
  }
};
struct Sub {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a - b;
  }
};
struct Mul {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a * b;
  }
};
struct Div {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a / b;
  }
};

// Squares and cubes are worth a comparison: they are most of all powers, and come out as products do.
template <class C>
__device__ C power(C x, C e) {
  return e == C{2} ? x * x : e == C{3} ? x * x * x : e == C{1} ? x : pow(x, e);
}

struct Pow {
  template <class C>
  __device__ C operator()(C x, C e) const {
    return power(x, e);
  }
};
struct Maximum {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a > b || a != a ? a : b;
  }
};
struct Minimum {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a < b || a != a ? a : b;
  }
};
struct Fmod {
  template <class C>
  __device__ C operator()(C a, C b) const {
    return fmod(a, b);
  }
};
struct Mod {
  template <class C>
  __device__ C operator()(C a, C b) const {
    const C rest = fmod(a, b);
    if (rest == C{0}) return copysign(rest, b);
    return (rest < C{0}) != (b < C{0}) ? rest + b : rest;
  }
};
struct PowGradBase {
  template <class C>
  __device__ C operator()(C dy, C x, C e) const {
    return e == C{0} ? C{0} : dy * (e * power(x, e - C{1}));
  }
};
struct PowGradExponent {
  template <class C>
  __device__ C operator()(C dy, C x, C y) const {
    return x == C{0} && isfinite(y) ? C{0} : dy * (y * log(x));
  }
};

template <class F>
void two(DType dtype, const Loop& loop, const void* a, const void* b, void* out, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    stretch<T, 2>(loop, {{static_cast<const T*>(a), static_cast<const T*>(b)}, static_cast<T*>(out)}, F{},
                  stream);
  });
}

template <class F>
void three(DType dtype, const Loop& loop, const void* a, const void* b, const void* c, void* out,
           cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    stretch<T, 3>(loop,
                  {{static_cast<const T*>(a), static_cast<const T*>(b), static_cast<const T*>(c)},
                   static_cast<T*>(out)},
                  F{}, stream);
  });
}

}  // namespace

void binary(DType dtype, Binary op, const Loop& loop, const void* a, const void* b, const void* c, void* out,
            cudaStream_t stream) {
  switch (op) {
    case Binary::add:
      return two<Add>(dtype, loop, a, b, out, stream);
    case Binary::sub:
      return two<Sub>(dtype, loop, a, b, out, stream);
    case Binary::mul:
      return two<Mul>(dtype, loop, a, b, out, stream);
    case Binary::div:
      return two<Div>(dtype, loop, a, b, out, stream);
    case Binary::pow:
      return two<Pow>(dtype, loop, a, b, out, stream);
    case Binary::maximum:
      return two<Maximum>(dtype, loop, a, b, out, stream);
    case Binary::minimum:
      return two<Minimum>(dtype, loop, a, b, out, stream);
    case Binary::mod:
      return two<Mod>(dtype, loop, a, b, out, stream);
    case Binary::fmod:
      return two<Fmod>(dtype, loop, a, b, out, stream);
    case Binary::pow_grad_base:
      return three<PowGradBase>(dtype, loop, a, b, c, out, stream);
    case Binary::pow_grad_exponent:
      return three<PowGradExponent>(dtype, loop, a, b, c, out, stream);
  }
}

}  // namespace headroom::cuda
