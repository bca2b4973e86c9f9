#include "ops/softmax/softmax.h"

#include <algorithm>
#include <cmath>

#include "graph/graph.h"
#include "ops/cpu/parallel.h"
#include "ops/cpu/reduce.h"
#include "ops/expect.h"

namespace headroom {
namespace {

struct Rows {
  std::int64_t rows, columns;
};

Rows rows_of(const Problem& p) {
  const Shape& shape = p.inputs[0].shape;
  const std::int64_t columns = shape[shape.rank() - 1];
  return {shape.numel() / columns, columns};
}

double row_length(const Problem& p) { return static_cast<double>(rows_of(p).columns); }

void expect_rows(std::string_view op, const TensorType& x) {
  expect_float(op, x);
  if (x.shape.rank() < 1) reject("{} needs an axis to run along, not a scalar", op);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("softmax", in, 1);
  expect_rows("softmax", in[0]);
  return {in[0]};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("softmax_grad", in, 2);
  expect_rows("softmax_grad", in[0]);
  expect_same("softmax_grad", in[0], in[1]);
  return {in[1]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  if (p.op == "softmax_grad") {
    c.multiply_add = 2 * n;
    c.other = 2 * n;
  } else {
    c.other = 4 * n;  // maximum, difference, sum, division
    c.special = n;
  }
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit("softmax_grad", {c.output_gradients[0], c.output(0)})};
}

template <class T>
void reference_row(std::int64_t n, const T* x, T* y) {
  const T most = *std::max_element(x, x + n);
  long double sum = 0;  // wider than any kernel's: a long row must not blur the definition
  for (std::int64_t c = 0; c < n; ++c) sum += y[c] = std::exp(x[c] - most);
  for (std::int64_t c = 0; c < n; ++c) y[c] = static_cast<T>(y[c] / sum);
}

template <class T>
void reference_grad_row(std::int64_t n, const T* dy, const T* y, T* dx) {
  long double dot = 0;
  for (std::int64_t c = 0; c < n; ++c) dot += static_cast<long double>(dy[c]) * y[c];
  for (std::int64_t c = 0; c < n; ++c) dx[c] = static_cast<T>(y[c] * (dy[c] - dot));
}

Launcher reference(const Problem& p, const Capabilities&) {
  const bool backward = p.op == "softmax_grad";
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [size = rows_of(p), backward](const LaunchArgs& a) {
      for (std::int64_t r = 0; r < size.rows; ++r) {
        const std::int64_t at = r * size.columns;
        if (backward)
          reference_grad_row(size.columns, a.in<T>(0) + at, a.in<T>(1) + at, a.out<T>(0) + at);
        else
          reference_row(size.columns, a.in<T>(0) + at, a.out<T>(0) + at);
      }
    };
  });
}

Launcher blocks(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [size = rows_of(p)](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      const std::int64_t n = size.columns, step = block_rows(n);
      parallel_for(size.rows, 2048 / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
        T maxima[kMostBlockRows], sums[kMostBlockRows];
        for (std::int64_t r = begin; r < end; r += step) {
          const std::int64_t count = std::min(step, end - r);
          exp_rows(count, n, x + r * n, y + r * n, maxima, sums);
          for (std::int64_t k = 0; k < count; ++k) {
            const T scale = T{1} / sums[k];
            T* row = y + (r + k) * n;
#pragma omp simd
            for (std::int64_t c = 0; c < n; ++c) row[c] *= scale;
          }
        }
      });
    };
  });
}

Launcher rows_grad(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [size = rows_of(p)](const LaunchArgs& a) {
      const std::int64_t n = size.columns;
      parallel_for(size.rows, kElementwiseGrain / n + 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t r = begin; r < end; ++r) {
          const T* dy = a.in<T>(0) + r * n;
          const T* y = a.in<T>(1) + r * n;
          T* dx = a.out<T>(0) + r * n;
          const T dot = simd::dot(n, dy, y);
#pragma omp simd
          for (std::int64_t c = 0; c < n; ++c) dx[c] = y[c] * (dy[c] - dot);
        }
      });
    };
  });
}

}  // namespace

std::vector<Operator> softmax_operators() {
  std::vector<Case> forward, backward;
  for (const Shape& shape :
       std::vector<Shape>{{1}, {7}, {1, 10}, {5, 1}, {64, 10}, {3, 5, 7}, {33, 129}, {2, 5000}, {3000, 10}}) {
    const Tier tier = shape.numel() > 8192 ? Tier::smoke : Tier::ci;
    forward.push_back({.tier = tier, .inputs = {shape}});
    backward.push_back({.tier = tier, .inputs = {shape, shape}});
  }
  return {
      {.schema = {.name = "softmax", .infer = infer, .cost = cost, .gradient = gradient},
       .kernels = {{.name = "cpu:blocks", .prepare = blocks}, {.name = "reference", .prepare = reference}},
       .cases = forward,
       .sum_length = row_length},
      {.schema = {.name = "softmax_grad", .infer = infer_grad, .cost = cost},
       .kernels = {{.name = "cpu:rows", .prepare = rows_grad}, {.name = "reference", .prepare = reference}},
       .cases = backward,
       .sum_length = row_length}};
}

}  // namespace headroom
