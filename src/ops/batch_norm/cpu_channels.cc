// Three walks: measure pieces, turn each channel's measurements into coefficients, apply them. Where a
// channel fits the cache the three are done channel by channel, and memory is read once. Pieces and the order
// in which they are joined follow from the shape, so the bits do not depend on the number of threads.
#include <cmath>

#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/loops.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace {

constexpr std::int64_t kCacheBytes = 512 << 10;  // half of a second-level cache, or all of a small one

// A run of one channel (rows is 1), or a tile of the matrix.
struct Piece {
  std::int64_t at, rows, columns;
  std::int64_t partial, coefficient;  // of its first column
};

Piece run_of(const Channels& s, std::int64_t row, std::int64_t channel, std::int64_t k) {
  const std::int64_t plane = row * s.channels + channel, begin = k * Channels::kRun;
  return {plane * s.plane + begin, 1, std::min(Channels::kRun, s.plane - begin), plane * s.inner() + k,
          channel};
}

Piece tile_of(const Channels& s, std::int64_t band, std::int64_t block) {
  const std::int64_t row = band * Channels::kBand, column = block * kMomentsColumns, width = s.width();
  return {row * width + column, std::min(Channels::kBand, s.rows - row),
          std::min(kMomentsColumns, width - column), band * width + column, column};
}

template <class Body>
void each_piece(const Channels& s, Body&& body) {
  const std::int64_t across =
      s.as_matrix() ? (s.width() + kMomentsColumns - 1) / kMomentsColumns : s.channels * s.inner();
  const std::int64_t count = s.outer() * across;
  parallel_for(count, kElementwiseGrain * count / s.numel() + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i)
                   body(s.as_matrix() ? tile_of(s, i / across, i % across)
                                      : run_of(s, i / across, i % across / s.inner(), i % s.inner()));
               });
}

template <class Body>
void each_run(const Channels& s, std::int64_t channel, Body&& body) {
  for (std::int64_t r = 0; r < s.rows; ++r)
    for (std::int64_t k = 0; k < s.inner(); ++k) body(run_of(s, r, channel, k));
}

// Do the tensors' parts of a channel stay in the cache from the first walk to the last, with enough channels
// to go round?
bool by_channel(const Channels& s, int tensors, std::size_t element, int threads) {
  const std::int64_t bytes = s.per_channel() * tensors * static_cast<std::int64_t>(element);
  return !s.as_matrix() && bytes <= kCacheBytes && s.channels >= 2 * threads;
}

// A job has start(channel), gather(piece), finish(channel), apply(piece) and kTensors, the number it walks.
template <class T, class Job>
void sweep(const Channels& s, const Job& job) {
  auto gather = [&](const Piece& piece) { job.gather(piece); };
  auto apply = [&](const Piece& piece) { job.apply(piece); };
  if (by_channel(s, Job::kTensors, sizeof(T), omp_get_max_threads()))
    return parallel_for(s.channels, kElementwiseGrain / s.per_channel() + 1,
                        [&](std::int64_t begin, std::int64_t end, int) {
                          for (std::int64_t c = begin; c < end; ++c) {
                            job.start(c);
                            if constexpr (Job::kGathers) each_run(s, c, gather), job.finish(c);
                            each_run(s, c, apply);
                          }
                        });
  for (std::int64_t c = 0; c < s.channels; ++c) job.start(c);
  if constexpr (Job::kGathers) {
    each_piece(s, gather);
    parallel_for(s.channels, 4096 / (s.outer() * s.inner()) + 1,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t c = begin; c < end; ++c) job.finish(c);
                 });
  }
  each_piece(s, apply);
}

// Coefficient k of each channel, or of each column: workspace behind the partial results.
template <class T>
struct Coefficients {
  T* data;
  std::int64_t length, copies;
  Coefficients(const Channels& s, void* workspace)
      : data(reinterpret_cast<T*>(static_cast<Moments*>(workspace) + s.partials())),
        length(s.channels * s.copies()),
        copies(s.copies()) {}
  T* at(int k, std::int64_t i) const { return data + k * length + i; }
  void set(int k, std::int64_t channel, double value) const {
    std::fill_n(at(k, channel * copies), copies, static_cast<T>(value));
  }
  void set_mean(std::int64_t channel, double mean) const {
    const Split<T> split(mean);
    set(0, channel, double{split.high}), set(1, channel, double{split.low});
  }
};

// Calls body(offset, length) for the rows of a piece.
template <class Body>
void each_row(const Channels& s, const Piece& p, Body&& body) {
  for (std::int64_t r = 0; r < p.rows; ++r) body(p.at + r * s.width());
}

template <class T, bool kTraining>
struct Forward {
  static constexpr int kTensors = 2;
  static constexpr bool kGathers = kTraining;
  const Channels& s;
  const LaunchArgs& a;
  Coefficients<T> k{s, a.workspace};
  Moments* partial = static_cast<Moments*>(a.workspace);

  void coefficients(std::int64_t c, double mean, double inv_std) const {
    k.set_mean(c, mean);
    k.set(2, c, double{a.in<T>(1)[c]} * inv_std);
    k.set(3, c, double{a.in<T>(2)[c]});
  }
  void start(std::int64_t c) const {
    if constexpr (!kTraining)
      coefficients(c, double{a.in<T>(3)[c]}, 1 / std::sqrt(double{a.in<T>(4)[c]} + s.epsilon));
  }
  void gather(const Piece& p) const {
    if (s.as_matrix())
      column_moments(p.rows, p.columns, s.width(), a.in<T>(0) + p.at, partial + p.partial);
    else
      partial[p.partial] = moments(p.columns, a.in<T>(0) + p.at);
  }
  void finish(std::int64_t c) const {
    const std::int64_t inner = s.inner();
    const Moments m = join_moments(s.outer() * inner, [&](std::int64_t i) {
      return partial[(i / inner * s.channels + c) * inner + i % inner];
    });
    const double inv_std = 1 / std::sqrt(m.m2 / m.n + s.epsilon);
    coefficients(c, m.mean, inv_std);
    const double w = s.momentum;
    a.out<T>(1)[c] = static_cast<T>((1 - w) * double{a.in<T>(3)[c]} + w * m.mean);
    a.out<T>(2)[c] = static_cast<T>((1 - w) * double{a.in<T>(4)[c]} + w * m.m2 / (m.n - 1));
    a.out<double>(3)[c] = m.mean;
    a.out<double>(4)[c] = inv_std;
  }
  void apply(const Piece& p) const {
    const auto step = s.as_matrix() ? affine<true, T> : affine<false, T>;
    const std::int64_t c = p.coefficient;
    each_row(s, p, [&](std::int64_t at) {
      step(p.columns, a.in<T>(0) + at, a.out<T>(0) + at, k.at(0, c), k.at(1, c), k.at(2, c), k.at(3, c));
    });
  }
};

template <class T, bool kTraining>
struct Backward {
  static constexpr int kTensors = 3;
  static constexpr bool kGathers = true;
  const Channels& s;
  const LaunchArgs& a;
  Coefficients<T> k{s, a.workspace};
  GradientSums* partial = static_cast<GradientSums*>(a.workspace);

  double inv_std(std::int64_t c) const {
    if constexpr (kTraining) return a.in<double>(4)[c];
    return 1 / std::sqrt(double{a.in<T>(4)[c]} + s.epsilon);
  }
  void start(std::int64_t c) const { k.set_mean(c, kTraining ? a.in<double>(3)[c] : double{a.in<T>(3)[c]}); }
  void gather(const Piece& p) const {
    const T* dy = a.in<T>(0) + p.at;
    const T* x = a.in<T>(1) + p.at;
    const T* high = k.at(0, p.coefficient);
    const T* low = k.at(1, p.coefficient);
    if (s.as_matrix())
      sum_tile(p.rows, p.columns, s.width(), dy, x, high, low, partial + p.partial);
    else
      partial[p.partial] = sum_run(p.columns, dy, x, double{*high} + double{*low});
  }
  void finish(std::int64_t c) const {
    GradientSums sum;
    for (std::int64_t o = 0; o < s.outer(); ++o)
      for (std::int64_t i = 0; i < s.inner(); ++i) {
        const GradientSums& part = partial[(o * s.channels + c) * s.inner() + i];
        sum.dy += part.dy, sum.dy_x += part.dy_x;
      }
    const double inv = inv_std(c), factor = double{a.in<T>(2)[c]} * inv;
    const double n = static_cast<double>(s.per_channel());
    a.out<T>(1)[c] = static_cast<T>(sum.dy_x * inv);
    a.out<T>(2)[c] = static_cast<T>(sum.dy);
    k.set(2, c, factor);
    k.set(3, c, -factor * inv * inv * sum.dy_x / n);
    k.set(4, c, -factor * sum.dy / n);
  }
  void apply(const Piece& p) const {
    const T* dy = a.in<T>(0);
    T* dx = a.out<T>(0);
    const std::int64_t c = p.coefficient;
    if constexpr (kTraining) {
      const auto step = s.as_matrix() ? affine_grad<true, T> : affine_grad<false, T>;
      each_row(s, p, [&](std::int64_t at) {
        step(p.columns, dy + at, a.in<T>(1) + at, dx + at, k.at(0, c), k.at(1, c), k.at(2, c), k.at(3, c),
             k.at(4, c));
      });
    } else {
      const auto step = s.as_matrix() ? scaled<true, T> : scaled<false, T>;
      each_row(s, p, [&](std::int64_t at) { step(p.columns, dy + at, dx + at, k.at(2, c)); });
    }
  }
};

}  // namespace

std::size_t batch_norm_workspace(const Problem& p, const Capabilities&) {
  const Channels s = channels_of(p);
  return static_cast<std::size_t>(s.partials()) * sizeof(Moments) +
         static_cast<std::size_t>(5 * s.channels * s.copies()) * size_of(p.outputs[0].dtype);
}

Work batch_norm_work(const Problem& p, const Capabilities& capabilities) {
  Work work = least_work(p, capabilities);
  const bool backward = p.op.ends_with("_grad");
  const int read = backward ? 2 : 1;
  if (!by_channel(channels_of(p), read + 1, size_of(p.outputs[0].dtype), capabilities.threads))
    work.bytes += static_cast<double>(read * p.inputs[0].bytes()), work.launches = 3;
  return work;
}

Launcher batch_norm_channels(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p)](const LaunchArgs& a) { sweep<T>(s, Forward<T, true>{s, a}); };
  });
}

Launcher batch_norm_inference_channels(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p)](const LaunchArgs& a) { sweep<T>(s, Forward<T, false>{s, a}); };
  });
}

Launcher batch_norm_grad_channels(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = channels_of(p), training = p.op == "batch_norm_grad"](const LaunchArgs& a) {
      if (training) return sweep<T>(s, Backward<T, true>{s, a});
      sweep<T>(s, Backward<T, false>{s, a});
    };
  });
}

}  // namespace headroom
