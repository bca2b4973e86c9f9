#include "ops/cuda/index.cuh"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/cuda/persistent.cuh"

namespace headroom::cuda {
namespace {

__global__ void __launch_bounds__(kThreads) begin(const __grid_constant__ PersistentForward f) {
  const std::int64_t cells = f.s.dirs * f.s.cells(), counters = f.s.dirs * f.plan.lanes;
  for (std::int64_t i = thread_number(); i < cells; i += thread_count()) {
    f.h[i] = f.t.h0 == nullptr ? 0 : f.t.h0[i];
    f.c[i] = f.t.c0 == nullptr ? 0 : f.t.c0[i];
  }
  for (std::int64_t i = thread_number(); i < counters; i += thread_count()) f.counters[i] = 0;
}

// One cell of one step, from the products of its gates with the states.
__device__ inline float forward_cell(const PersistentForward& f, std::int64_t dir, std::int64_t place,
                                     std::int64_t item, std::int64_t unit, const float* product, float h) {
  using namespace ::headroom::recurrent;
  const RecurrentProblem& s = f.s;
  const std::int64_t row = (dir * s.seq + place) * s.batch + item,
                     cell = (dir * s.batch + item) * s.hidden + unit;
  const auto bias = [&](int half, int gate) {
    return f.t.b == nullptr ? 0 : f.t.b[(dir * 2 + half) * s.rows() + gate * s.hidden + unit];
  };
  const auto input = [&](int gate) {
    return f.products[row * s.rows() + gate * s.hidden + unit] + bias(0, gate);
  };
  const auto state = [&](int gate) { return product[gate] + bias(1, gate); };
  const auto save = [&](int part, float value) {
    if (f.t.saved != nullptr) f.t.saved[(row * s.saved_parts() + part) * s.hidden + unit] = value;
  };
  if (s.kind == CellKind::rnn) return rnn(input(0) + state(0), s.relu);
  if (s.kind == CellKind::lstm) {
    const LstmGates<float> gates{sigmoid(input(0) + state(0)), sigmoid(input(1) + state(1)),
                                 sigmoid(input(2) + state(2)), tanhf(input(3) + state(3))};
    const float next = lstm_c(gates, f.c[cell]);
    f.c[cell] = next;
    save(0, gates.i), save(1, gates.o), save(2, gates.f), save(3, gates.g), save(4, next);
    return gates.o * tanhf(next);
  }
  const float z = sigmoid(input(0) + state(0)), r = sigmoid(input(1) + state(1)), inner = state(2),
              g = tanhf(input(2) + r * inner);
  save(0, z), save(1, r), save(2, g), save(3, inner);
  return gru_h(z, g, h);
}

__device__ inline void forward_tile(const PersistentForward& f, const PersistentPlace& at, std::int64_t n,
                                    std::int64_t tile, const float* sums) {
  constexpr int kItems = PersistentPlan::kItems;
  const RecurrentProblem& s = f.s;
  const std::int64_t place = s.place(at.dir, n), all = s.dirs * s.cells();
  for (int e = threadIdx.x; e < f.plan.units * kItems; e += PersistentPlan::kThreads) {
    const int u = e % static_cast<int>(f.plan.units), i = e / static_cast<int>(f.plan.units);
    const std::int64_t item = tile * kItems + i, unit = at.first_unit(f.plan) + u;
    if (item >= s.batch || unit >= s.hidden) continue;
    const std::int64_t cell = (at.dir * s.batch + item) * s.hidden + unit;
    const float before = f.h[n % 2 * all + cell];
    const bool covered = f.t.lengths.cover(item, place);
    float product[4];
    for (int gate = 0; gate < s.gates; ++gate) product[gate] = sums[(gate * f.plan.units + u) * kItems + i];
    const float next = covered ? forward_cell(f, at.dir, place, item, unit, product, before) : before;
    f.h[(n + 1) % 2 * all + cell] = next;
    f.t.y[((place * s.dirs + at.dir) * s.batch + item) * s.hidden + unit] = covered ? next : 0;
    if (!covered && f.t.saved != nullptr)
      for (int part = 0; part < s.saved_parts(); ++part)
        f.t.saved[(((at.dir * s.seq + place) * s.batch + item) * s.saved_parts() + part) * s.hidden + unit] =
            0;
    if (n + 1 < s.seq) continue;
    f.t.y_h[cell] = next;
    if (s.kind == CellKind::lstm) f.t.y_c[cell] = f.c[cell];
  }
}

// The rows of R for all gates of the block's units; zeros behind them.
__device__ inline void load_weights(const PersistentForward& f, const PersistentPlace& at, float* weights) {
  const PersistentPlan& p = f.plan;
  const RecurrentProblem& s = f.s;
  for (std::int64_t e = threadIdx.x; e < p.rows() * p.terms; e += PersistentPlan::kThreads) {
    const Cut row = cut(e, p.terms), gate = cut(row.whole, p.units);
    const std::int64_t unit = at.first_unit(p) + gate.rest;
    const bool there = gate.whole < s.gates && unit < s.hidden;
    weights[row.whole * (p.terms + PersistentPlan::kPad) + row.rest] =
        there ? f.t.r[((at.dir * s.gates + gate.whole) * s.hidden + unit) * s.hidden + row.rest] : 0;
  }
}

__global__ void __launch_bounds__(PersistentPlan::kThreads, 1)
    all_steps(const __grid_constant__ PersistentForward f) {
  extern __shared__ float4 shared[];
  const PersistentPlan& p = f.plan;
  const PersistentMemory m(reinterpret_cast<float*>(shared), p);
  const PersistentPlace at(p);
  const RecurrentProblem& s = f.s;
  load_weights(f, at, m.weights);
  __syncthreads();
  for (std::int64_t n = 0; n < s.seq; ++n) {
    const float* h = f.h + (n % 2 * s.dirs + at.dir) * s.cells();
    for (std::int64_t tile = at.lane; tile < p.tiles; tile += p.lanes) {
      multiply_items(p, m, items_of(h, s.hidden, tile, s.batch));
      forward_tile(f, at, n, tile, m.sums);
      __syncthreads();  // before the sums are overwritten
    }
    if (n + 1 < s.seq) meet(at.counter(p, f.counters), p.unit_blocks, n + 1);
  }
}

}  // namespace

void run_persistent(const PersistentForward& forward, cudaStream_t stream) {
  begin<<<blocks_striding(forward.s.dirs * forward.s.cells()), kThreads, 0, stream>>>(forward);
  HEADROOM_CUDA_LAUNCHED();
  launch_together(all_steps, forward.plan, forward.s.dirs, forward, stream);
}

}  // namespace headroom::cuda
