#include "ops/cuda/index.cuh"
#include "ops/recurrent/cell.h"
#include "ops/recurrent/cuda/persistent.cuh"

namespace headroom::cuda {
namespace {

// Gathers the states before all steps, which dR needs as a matrix.
__global__ void __launch_bounds__(kThreads) begin(const __grid_constant__ PersistentBackward b) {
  const RecurrentProblem& s = b.s;
  for (std::int64_t e = thread_number(); e < s.dirs * s.seq * s.cells(); e += thread_count()) {
    const Cut place = cut(e, s.cells()), dir = cut(place.whole, s.seq), item = cut(place.rest, s.hidden);
    const std::int64_t before = s.before(dir.whole, dir.rest);
    float state = 0;
    if (b.t.lengths.cover(item.whole, before))
      state = b.t.y[(before * s.dirs + dir.whole) * s.cells() + place.rest];
    else if (b.t.h0 != nullptr)
      state = b.t.h0[dir.whole * s.cells() + place.rest];
    b.before[e] = state;
  }
  for (std::int64_t i = thread_number(); i < s.dirs * b.plan.lanes; i += thread_count()) b.counters[i] = 0;
}

__device__ inline void lstm_cell(const PersistentBackward& b, std::int64_t dir, std::int64_t place,
                                 std::int64_t item, std::int64_t unit, float dh) {
  using namespace ::headroom::recurrent;
  const RecurrentProblem& s = b.s;
  const std::int64_t n = s.hidden, row = (dir * s.seq + place) * s.batch + item,
                     cell = (dir * s.batch + item) * n + unit, before = s.before(dir, place);
  const auto saved = [&](std::int64_t of, int part) { return b.t.saved[(of * 5 + part) * n + unit]; };
  float c_before = 0;
  if (b.t.lengths.cover(item, before))
    c_before = saved((dir * s.seq + before) * s.batch + item, 4);
  else if (b.t.c0 != nullptr)
    c_before = b.t.c0[cell];
  const LstmGates<float> gates{saved(row, 0), saved(row, 1), saved(row, 2), saved(row, 3)};
  const auto all = lstm_gradient<float>(gates, tanhf(saved(row, 4)), c_before, dh, b.dc[cell]);
  float* d = b.sums + row * s.rows() + unit;
  d[0] = all.i, d[n] = all.o, d[2 * n] = all.f, d[3 * n] = all.g;
  b.dc[cell] = all.c, b.dh[cell] = 0;
}

__device__ inline void gru_cell(const PersistentBackward& b, std::int64_t dir, std::int64_t place,
                                std::int64_t item, std::int64_t unit, float dh) {
  using namespace ::headroom::recurrent;
  const RecurrentProblem& s = b.s;
  const std::int64_t n = s.hidden, row = (dir * s.seq + place) * s.batch + item;
  const auto saved = [&](int part) { return b.t.saved[(row * s.saved_parts() + part) * n + unit]; };
  const float reset = saved(1);
  const auto all = gru_gradient<float>(saved(0), saved(2), b.before[row * n + unit], dh);
  float* d = b.sums + row * s.rows() + unit;
  d[0] = all.z, d[n] = through_sigmoid(all.g * saved(3), reset), d[2 * n] = all.g * reset;
  b.candidates[row * n + unit] = all.g;
  b.dh[(dir * s.batch + item) * n + unit] = all.h;
}

__device__ inline void rnn_cell(const PersistentBackward& b, std::int64_t dir, std::int64_t place,
                                std::int64_t item, std::int64_t unit, float dh) {
  const RecurrentProblem& s = b.s;
  const float y = b.t.y[((place * s.dirs + dir) * s.batch + item) * s.hidden + unit];
  b.sums[((dir * s.seq + place) * s.batch + item) * s.rows() + unit] =
      s.relu ? (y > 0 ? dh : 0) : ::headroom::recurrent::through_tanh(dh, y);
  b.dh[(dir * s.batch + item) * s.hidden + unit] = 0;
}

// Calls body(item, unit, place of the sum) for the block's cells of a tile.
template <class Body>
__device__ void each_cell(const PersistentBackward& b, const PersistentPlace& at, std::int64_t tile,
                          Body&& body) {
  const int units = static_cast<int>(b.plan.units);
  for (int e = threadIdx.x; e < units * PersistentPlan::kItems; e += PersistentPlan::kThreads) {
    const int u = e % units, i = e / units;
    const std::int64_t item = tile * PersistentPlan::kItems + i, unit = at.first_unit(b.plan) + u;
    if (item < b.s.batch && unit < b.s.hidden) body(item, unit, u * PersistentPlan::kItems + i);
  }
}

// Writes the gradients of the gates' sums of a tile, and to dh what does not pass through them.
__device__ inline void backward_tile(const PersistentBackward& b, const PersistentPlace& at, std::int64_t n,
                                     std::int64_t tile) {
  const RecurrentProblem& s = b.s;
  const std::int64_t place = s.place(at.dir, n);
  each_cell(b, at, tile, [&](std::int64_t item, std::int64_t unit, int) {
    const std::int64_t row = (at.dir * s.seq + place) * s.batch + item;
    if (!b.t.lengths.cover(item, place)) {
      for (std::int64_t gate = 0; gate < s.gates; ++gate) b.sums[row * s.rows() + gate * s.hidden + unit] = 0;
      if (s.kind == CellKind::gru) b.candidates[row * s.hidden + unit] = 0;
      return;
    }
    float dh = b.dh[(at.dir * s.batch + item) * s.hidden + unit];
    if (b.t.dy != nullptr) dh += b.t.dy[((place * s.dirs + at.dir) * s.batch + item) * s.hidden + unit];
    if (s.kind == CellKind::lstm)
      lstm_cell(b, at.dir, place, item, unit, dh);
    else if (s.kind == CellKind::gru)
      gru_cell(b, at.dir, place, item, unit, dh);
    else
      rnn_cell(b, at.dir, place, item, unit, dh);
  });
}

// Adds to dh what the gates' sums bring through R; before the first step that is the gradient of h0.
__device__ inline void add_through_states(const PersistentBackward& b, const PersistentPlace& at,
                                          const PersistentMemory& m, std::int64_t n, std::int64_t tile) {
  const RecurrentProblem& s = b.s;
  const std::int64_t place = s.place(at.dir, n);
  const float* sums = b.sums + (at.dir * s.seq + place) * s.batch * s.rows();
  multiply_items(b.plan, m, items_of(sums, s.rows(), tile, s.batch));
  each_cell(b, at, tile, [&](std::int64_t item, std::int64_t unit, int sum) {
    const std::int64_t cell = (at.dir * s.batch + item) * s.hidden + unit;
    if (b.t.lengths.cover(item, place)) b.dh[cell] += m.sums[sum];
    if (n > 0) return;
    b.t.dh0[cell] = b.dh[cell];
    if (b.t.dc0 != nullptr) b.t.dc0[cell] = b.dc[cell];
  });
  __syncthreads();  // before the sums are overwritten
}

// The block's columns of R as rows; zeros behind them. Then the gradients after the last step.
__device__ inline void begin_block(const PersistentBackward& b, const PersistentPlace& at, float* weights) {
  const PersistentPlan& p = b.plan;
  const RecurrentProblem& s = b.s;
  for (std::int64_t e = threadIdx.x; e < p.rows() * p.terms; e += PersistentPlan::kThreads) {
    const Cut term = cut(e, p.rows());
    const std::int64_t unit = at.first_unit(p) + term.rest;
    weights[term.rest * (p.terms + PersistentPlan::kPad) + term.whole] =
        term.rest < p.units && unit < s.hidden ? b.t.r[(at.dir * s.rows() + term.whole) * s.hidden + unit]
                                               : 0;
  }
  for (std::int64_t tile = at.lane; tile < p.tiles; tile += p.lanes)
    each_cell(b, at, tile, [&](std::int64_t item, std::int64_t unit, int) {
      const std::int64_t cell = (at.dir * s.batch + item) * s.hidden + unit;
      b.dh[cell] = b.t.dy_h == nullptr ? 0 : b.t.dy_h[cell];
      b.dc[cell] = b.t.dy_c == nullptr ? 0 : b.t.dy_c[cell];
    });
}

__global__ void __launch_bounds__(PersistentPlan::kThreads, 1)
    all_steps_back(const __grid_constant__ PersistentBackward b) {
  extern __shared__ float4 shared[];
  const PersistentPlan& p = b.plan;
  const PersistentMemory m(reinterpret_cast<float*>(shared), p);
  const PersistentPlace at(p);
  begin_block(b, at, m.weights);
  __syncthreads();
  for (std::int64_t n = b.s.seq - 1; n >= 0; --n) {
    for (std::int64_t tile = at.lane; tile < p.tiles; tile += p.lanes) backward_tile(b, at, n, tile);
    if (n == 0 && b.t.dh0 == nullptr) return;
    meet(at.counter(p, b.counters), p.unit_blocks, b.s.seq - n);
    for (std::int64_t tile = at.lane; tile < p.tiles; tile += p.lanes) add_through_states(b, at, m, n, tile);
  }
}

// dB: sums over all items of 32 columns a block, as the inputs' products have them and as the states' do.
__global__ void __launch_bounds__(1024) sum_biases(const __grid_constant__ PersistentBackward b) {
  __shared__ float parts[32][33];
  const RecurrentProblem& s = b.s;
  const std::int64_t rows = s.rows(), items = s.seq * s.batch, extra = s.kind == CellKind::gru ? s.hidden : 0;
  const std::int64_t columns = rows + extra, across = (columns + 31) / 32;
  const Cut block = cut(blockIdx.x, across);
  const std::int64_t dir = block.whole, column = block.rest * 32 + threadIdx.x % 32;
  const bool candidate = column >= rows;
  const float* from = candidate ? b.candidates + dir * items * s.hidden + column - rows
                                : b.sums + dir * items * rows + column;
  float sum = 0;
  if (column < columns)
    for (std::int64_t i = threadIdx.x / 32; i < items; i += 32)
      sum += from[i * (candidate ? s.hidden : rows)];
  parts[threadIdx.x / 32][threadIdx.x % 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32 || column >= columns) return;
  for (int i = 1; i < 32; ++i) sum += parts[i][threadIdx.x];
  float* db = b.t.db + dir * 2 * rows;
  if (candidate) {
    db[column - s.hidden] = sum;
    return;
  }
  db[rows + column] = sum;
  if (column < rows - extra) db[column] = sum;
}

}  // namespace

void run_persistent(const PersistentBackward& backward, cudaStream_t stream) {
  const RecurrentProblem& s = backward.s;
  begin<<<blocks_striding(s.dirs * s.seq * s.cells()), kThreads, 0, stream>>>(backward);
  HEADROOM_CUDA_LAUNCHED();
  launch_together(all_steps_back, backward.plan, s.dirs, backward, stream);
  if (backward.t.db == nullptr) return;
  const std::int64_t columns = s.rows() + (s.kind == CellKind::gru ? s.hidden : 0);
  sum_biases<<<static_cast<unsigned>(s.dirs * ((columns + 31) / 32)), 1024, 0, stream>>>(backward);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
