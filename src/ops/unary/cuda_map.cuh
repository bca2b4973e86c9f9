#pragma once

#include <utility>

#include "ops/cuda/map.cuh"
#include "ops/unary/cuda.h"

namespace headroom::cuda {

template <class F, class C>
struct UnaryForward {
  typename F::template Parameters<C> parameters;
  __device__ C operator()(C x) const { return unary::value_at<F, C>(x, parameters); }
};

template <class F, class C>
struct UnaryBackward {
  typename F::template Parameters<C> parameters;
  __device__ C operator()(C dy, C v) const { return dy * unary::slope_at<F, C>(v, parameters); }
};

template <class F>
void run_form(const UnaryCall& call) {
  dispatch_floats(call.dtype, [&]<class T>() {
    const auto parameters = unary::parameters_from<F, Compute<T>>(call.attributes);
    const auto* in = static_cast<const T*>(call.in);
    auto* out = static_cast<T*>(call.out);
    if constexpr (unary::HasSlope<F>) {
      if (const auto* v = static_cast<const T*>(call.v); v != nullptr)
        return map<T, 2>(call.n, {{in, v}, out}, UnaryBackward<F, Compute<T>>{parameters}, call.stream);
    }
    map<T, 1>(call.n, {{in}, out}, UnaryForward<F, Compute<T>>{parameters}, call.stream);
  });
}

// Compiles a function in the one file that has it.
template <std::size_t part, std::size_t index, class F>
void run_if_chosen(std::size_t form, const UnaryCall& call) {
  if constexpr (index % kUnaryParts == part) {
    if (form == index) run_form<F>(call);
  }
}

template <std::size_t part, class... F, std::size_t... index>
void run_chosen(std::size_t form, const UnaryCall& call, TypeList<F...>, std::index_sequence<index...>) {
  (run_if_chosen<part, index, F>(form, call), ...);
}

template <std::size_t part>
void run_unary(std::size_t form, const UnaryCall& call) {
  run_chosen<part>(form, call, unary::AllForms{}, std::make_index_sequence<unary::AllForms::kSize>{});
}

}  // namespace headroom::cuda
