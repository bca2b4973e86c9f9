// Memory-bound: every value is read and written once, all tensors in one launch.
#include "ops/updates/cuda.h"

#include <new>

#include "ops/cuda/tensor_table.cuh"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {
namespace {

template <class T, class Rule, int kWide>
__device__ void update_pack(const Rule& rule, bool decoupled, Compute<T> l2, Compute<T> keep, std::int64_t i,
                            void* const* at) {
  using C = Compute<T>;
  using P = Pack<T, kWide>;
  constexpr int kN = Rule::kStates;
  const P g = reinterpret_cast<const P*>(static_cast<const T*>(at[0]) + i)[0];
  P p = reinterpret_cast<const P*>(static_cast<const T*>(at[1]) + i)[0], s[kN + 1];
#pragma unroll
  for (int k = 0; k < kN; ++k) s[k] = reinterpret_cast<const P*>(static_cast<const T*>(at[2 + k]) + i)[0];
#pragma unroll
  for (int e = 0; e < kWide; ++e) {
    C states[kN + 1];
#pragma unroll
    for (int k = 0; k < kN; ++k) states[k] = widen(s[k].v[e]);
    const C x = widen(p.v[e]), d = widen(g.v[e]);
    p.v[e] = narrow<T>(decoupled ? rule.next(x * keep, d, states) : rule.next(x, d + l2 * x, states));
#pragma unroll
    for (int k = 0; k < kN; ++k) s[k].v[e] = narrow<T>(states[k]);
  }
  reinterpret_cast<P*>(static_cast<T*>(at[1]) + i)[0] = p;
#pragma unroll
  for (int k = 0; k < kN; ++k) reinterpret_cast<P*>(static_cast<T*>(at[2 + k]) + i)[0] = s[k];
}

template <class T, class Rule>
__global__ void update_all(updates::Settings settings, bool decoupled, const double* rate, const double* step,
                           const __grid_constant__ TensorTable table) {
  Rule rule(settings);
  if (step == nullptr) {
    rule.begin(*rate, 0);
  } else {  // by one thread: powers in fp64 take long
    __shared__ alignas(Rule) unsigned char shared[sizeof(Rule)];
    if (threadIdx.x == 0) {
      rule.begin(*rate, *step);
      new (shared) Rule(rule);
    }
    __syncthreads();
    rule = *reinterpret_cast<const Rule*>(shared);
  }
  const TablePiece piece = piece_of(table, blockIdx.x, kUpdateChunk);
  const double number = table.number[piece.tensor];
  const auto l2 = static_cast<Compute<T>>(number), keep = static_cast<Compute<T>>(1 - *rate * number);
  void* const* at = table.at[piece.tensor];
  bool whole = true;
  for (int k = 0; k < 2 + Rule::kStates; ++k) whole &= reinterpret_cast<unsigned long long>(at[k]) % 16 == 0;
  std::int64_t from = piece.begin;
  if (whole) {
    from += (piece.end - piece.begin) / kPack<T> * kPack<T>;
    for (std::int64_t i = piece.begin + threadIdx.x * kPack<T>; i < from; i += kThreads * kPack<T>)
      update_pack<T, Rule, kPack<T>>(rule, decoupled, l2, keep, i, at);
  }
  for (std::int64_t i = from + threadIdx.x; i < piece.end; i += kThreads)
    update_pack<T, Rule, 1>(rule, decoupled, l2, keep, i, at);
}

}  // namespace

void update(DType dtype, Update rule, const updates::Settings& settings, bool decoupled, const double* rate,
            const double* step, const TensorTable& table, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    using namespace updates;
    using C = Compute<T>;
    const auto run = [&]<class Rule>(const Rule*) {
      update_all<T, Rule><<<table.blocks(), kThreads, 0, stream>>>(settings, decoupled, rate, step, table);
      HEADROOM_CUDA_LAUNCHED();
    };
    switch (rule) {
      case Update::sgd:
        return run(static_cast<const PlainSgd<C>*>(nullptr));
      case Update::momentum:
        return run(static_cast<const MomentumSgd<C, false>*>(nullptr));
      case Update::nesterov:
        return run(static_cast<const MomentumSgd<C, true>*>(nullptr));
      case Update::adagrad:
        return run(static_cast<const Adagrad<C>*>(nullptr));
      case Update::adadelta:
        return run(static_cast<const Adadelta<C>*>(nullptr));
      case Update::rmsprop:
        return run(static_cast<const Rmsprop<C, false>*>(nullptr));
      case Update::rmsprop_momentum:
        return run(static_cast<const Rmsprop<C, true>*>(nullptr));
      case Update::adam:
        return run(static_cast<const Adam<C>*>(nullptr));
    }
  });
}

}  // namespace headroom::cuda
