// Planes are first summed to a matrix [N, C]; its columns are then summed in chunks of rows of a fixed size,
// so that neither the work of a thread nor the result depends on how many threads there are.
#include "ops/bias_grad/bias_grad.h"

#include <algorithm>

#include "ops/bias_grad/splits.h"
#include "ops/channel_view.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/expect.h"

namespace headroom {
namespace bias_grad_cc {
namespace {

struct BiasProblem {
  std::int64_t rows = 0, channels = 0, plane = 0;

  // Rows of few channels are taken `fold` at a time: their accumulators fill vectors, and are added up after.
  std::int64_t fold() const { return std::clamp<std::int64_t>(64 / channels, 1, rows); }
  std::int64_t width() const { return fold() * channels; }
  std::int64_t bands() const { return rows / fold(); }
  static constexpr std::int64_t kBandsPerChunk = 128;
  std::int64_t chunks() const { return (bands() + kBandsPerChunk - 1) / kBandsPerChunk; }
};

constexpr std::int64_t kManyRows = 8192;

BiasProblem bias_problem(const Problem& p) {
  const ChannelView dy = channel_view(p.inputs[0]);
  return {.rows = dy.rows, .channels = dy.channels, .plane = dy.plane};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const std::string activation = attrs.text("activation_grad");
  if (!activation.empty() && activation != "relu") reject("bias_grad cannot fuse '{}'", activation);
  expect_inputs("bias_grad", in, activation.empty() ? 1 : 2);
  expect_float("bias_grad", in[0]);
  if (in[0].shape.rank() < 2) reject("bias_grad takes [N, C, …], not {}", in[0].shape.str());
  const TensorType db{{in[0].shape[1]}, in[0].dtype};
  if (activation.empty()) return {db};
  expect_same("bias_grad", in[0], in[1]);
  return {db, in[0]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel()) * static_cast<double>(p.inputs.size());
  return c;
}

bool is_behind_relu(const Problem& p) { return p.attrs.has("activation_grad"); }

Verdict accepts_alone(const Problem& p, const Target& target) {
  if (is_behind_relu(p)) return refuse("relu's gradient is folded in");
  return target.device.kind == DeviceKind::cpu ? accepts_cpu_floats(p, target)
                                               : accepts_cuda_floats(p, target);
}

int pack_of(const Problem& p) { return static_cast<int>(16 / size_of(p.outputs[0].dtype)); }

Verdict accepts_rows(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const BiasProblem b = bias_problem(p);
  if (p.outputs[0].dtype == DType::f64) return refuse("sums are of narrower numbers");
  if (b.plane != 1) return refuse("channels are not contiguous");
  if (b.channels % pack_of(p) != 0) return refuse("channels are not whole packs of 16 bytes");
  if (!is_behind_relu(p) && b.rows < kManyRows) return refuse("few rows: a smaller launch is enough");
  return bias_rows_split(p).tiles <= cuda::RowsSplit::kMaxTiles ? accept() : refuse("too many channels");
}

std::size_t workspace_rows(const Problem& p, const Target&) {
  const cuda::RowsSplit split = bias_rows_split(p);
  return static_cast<std::size_t>(split.parts) * static_cast<std::size_t>(split.channels) * sizeof(double);
}

Launcher reference(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = bias_problem(problem), relu = is_behind_relu(problem)](const LaunchArgs& a) {
      for (std::int64_t c = 0; c < p.channels; ++c) {
        long double sum = 0;  // a serial sum of positive numbers in their own width drifts
        for (std::int64_t r = 0; r < p.rows; ++r)
          for (std::int64_t k = 0; k < p.plane; ++k) {
            const std::int64_t i = (r * p.channels + c) * p.plane + k;
            const T dy = relu && !(a.in<T>(1)[i] > 0) ? T{0} : a.in<T>(0)[i];
            if (relu) a.out<T>(1)[i] = dy;
            sum += dy;
          }
        a.out<T>(0)[c] = static_cast<T>(sum);
      }
    };
  });
}

// out[0, width) = the sum of `bands` consecutive rows of that width, four at a time to spare the
// accumulators.
template <class T>
void sum_bands(std::int64_t width, std::int64_t bands, const T* x, T* out) {
  std::fill_n(out, width, T{0});
  std::int64_t b = 0;
  for (; b + 4 <= bands; b += 4, x += 4 * width)
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i)
      out[i] += (x[i] + x[i + width]) + (x[i + 2 * width] + x[i + 3 * width]);
  for (; b < bands; ++b, x += width)
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i) out[i] += x[i];
}

// out[c] = the sum of column c of x[rows, channels]; partial holds chunks() * width() elements.
template <class T>
void sum_columns(const BiasProblem& p, const T* x, T* partial, T* out) {
  const std::int64_t width = p.width(), step = BiasProblem::kBandsPerChunk;
  parallel_for(
      p.chunks(), kElementwiseGrain / (width * step) + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t k = begin; k < end; ++k)
          sum_bands(width, std::min(step, p.bands() - k * step), x + k * step * width, partial + k * width);
      });
  const std::int64_t left = p.rows - p.bands() * p.fold();
  sum_bands(p.channels, left, x + p.bands() * width, out);
  for (std::int64_t k = 0; k < p.chunks() * p.fold(); ++k)
#pragma omp simd
    for (std::int64_t c = 0; c < p.channels; ++c) out[c] += partial[k * p.channels + c];
}

std::size_t workspace(const Problem& problem, const Target&) {
  const BiasProblem p = bias_problem(problem);
  const std::int64_t matrix = p.plane > 1 ? p.rows * p.channels : 0;
  return static_cast<std::size_t>(matrix + p.chunks() * p.width()) * size_of(problem.outputs[0].dtype);
}

Launcher chunks(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = bias_problem(problem)](const LaunchArgs& a) {
      T* scratch = static_cast<T*>(a.workspace);
      const T* dy = a.in<T>(0);
      if (p.plane == 1) return sum_columns(p, dy, scratch, a.out<T>(0));
      const std::int64_t planes = p.rows * p.channels;
      parallel_for(planes, kElementwiseGrain / p.plane + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t i = begin; i < end; ++i) scratch[i] = simd::sum(p.plane, dy + i * p.plane);
      });
      sum_columns(p, scratch, scratch + planes, a.out<T>(0));
    };
  });
}

std::size_t workspace_cuda(const Problem& problem, const Target&) {
  const BiasProblem p = bias_problem(problem);
  const BiasSplits s = bias_splits(p.rows, p.channels, p.plane);
  if (s.splits == 1) return 0;
  return static_cast<std::size_t>(s.splits * p.channels) *
         size_of(problem.outputs[0].dtype == DType::f64 ? DType::f64 : DType::f32);
}

}  // namespace
}  // namespace bias_grad_cc

cuda::RowsSplit bias_rows_split(const Problem& p) {
  using namespace bias_grad_cc;
  const BiasProblem b = bias_problem(p);
  return {b.rows, b.channels, pack_of(p)};
}

std::vector<Operator> bias_grad_operators() {
  using namespace bias_grad_cc;
  std::vector<Case> cases;
  for (const Shape& shape :
       std::vector<Shape>{{1, 1},           {1, 7},         {5, 3},     {257, 10},       {3000, 10},
                          {129, 64},        {1031, 65},     {300, 512}, {256, 84},       {256, 16, 5, 5},
                          {30, 16, 10, 10}, {4, 6, 28, 28}, {3, 5, 7},  {2, 16, 3, 5},   {70, 2, 1, 3},
                          {40, 6, 24, 24},  {9000, 33},     {70000, 3}, {60, 3, 31, 17}, {3, 4101, 2}})
    cases.push_back({.tier = Tier::ci, .inputs = {shape}});
  // Behind relu, and matrices of many rows.
  for (const Shape& shape :
       std::vector<Shape>{{7, 8, 3, 5}, {3, 24, 9, 7}, {40, 136, 5, 5}, {600, 16}, {2, 5, 4, 4}})
    cases.push_back(
        {.tier = Tier::smoke, .inputs = {shape, shape}, .attrs = {{"activation_grad", std::string("relu")}}});
  cases.push_back({.tier = Tier::smoke, .inputs = {{9001, 48}}});
  cases.push_back({.tier = Tier::perf, .inputs = {{3000, 512}}});
  cases.push_back({.tier = Tier::perf, .inputs = {{256, 6, 28, 28}}});
  return {{.schema = {.name = "bias_grad", .infer = infer, .cost = cost},
           .kernels =
               {{.name = "cuda:rows",
                 .device = DeviceKind::cuda,
                 .accepts = accepts_rows,
                 .prepare = HEADROOM_CUDA(prepare_bias_grad_rows),
                 .workspace = workspace_rows,
                 .shares_counter = true,
                 .layouts = Layouts::alike},
                {.name = "cuda:splits",
                 .device = DeviceKind::cuda,
                 .accepts = accepts_alone,
                 .prepare = HEADROOM_CUDA(prepare_bias_grad_cuda),
                 .workspace = workspace_cuda,
                 .shares_counter = true,
                 .layouts = Layouts::alike},
                {.name = "cpu:chunks", .accepts = accepts_alone, .prepare = chunks, .workspace = workspace},
                {.name = "reference", .prepare = reference}},
           .cases = cases,
           .exact = true}};
}

}  // namespace headroom
