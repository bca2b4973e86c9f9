#include "ops/grid_sample/grid_sample.h"

#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/grid_sample/taps.h"

namespace headroom {
namespace grid_sample_cc {
namespace {

constexpr std::string_view kName = "grid_sample";

std::string word(const Attrs& attrs, const char* name, const std::vector<std::string>& known) {
  const std::string text = attrs.text(name, known[0]);
  if (std::find(known.begin(), known.end(), text) == known.end())
    reject(Hint{fmt::format("{}", fmt::join(known, ", "))}, "{}: {} is '{}'", kName, name, text);
  return text;
}

std::string mode_of(const Attrs& attrs) { return word(attrs, "mode", {"linear", "nearest", "cubic"}); }
std::string padding_of(const Attrs& attrs) {
  return word(attrs, "padding", {"zeros", "border", "reflection"});
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kName, in, 2);
  expect_float(kName, in[0]);
  const Shape &x = in[0].shape, &grid = in[1].shape;
  const int axes = x.rank() - 2;
  if (in[1].dtype != in[0].dtype || axes < 2 || axes > 3 || grid.rank() != x.rank() || grid[0] != x[0] ||
      grid[axes + 1] != axes)
    reject(Hint{"[N, C, H, W] with [N, h, w, 2], or [N, C, D, H, W] with [N, d, h, w, 3]"},
           "{}: a grid of {} for {}", kName, grid.str(), x.str());
  padding_of(attrs);
  if (mode_of(attrs) == "cubic" && axes == 3) reject("{}: mode 'cubic' takes two axes, not three", kName);
  std::vector<std::int64_t> dims = {x[0], x[1]};
  for (int a = 0; a < axes; ++a) dims.push_back(grid[a + 1]);
  return {{Shape(dims), in[0].dtype}};
}

// No more of the image is read than there are results.
Cost cost(const Problem& p) {
  Cost c;
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  c.bytes_written = static_cast<double>(p.outputs[0].bytes());
  c.bytes_read = c.bytes_written + static_cast<double>(p.inputs[1].bytes());
  const std::string mode = mode_of(p.attrs);
  c.other = (mode == "nearest" ? 1 : mode == "linear" ? 8 : 32) * n;
  return c;
}

// The definition: every result for itself.
Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = grid_shape(p)](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < s.images * s.channels * s.points; ++i) {
        const std::int64_t map = i / s.points, at = map / s.channels * s.points + i % s.points;
        const auto point = [&](int axis) { return a.in<T>(1)[at * s.axes + axis]; };
        const auto pixel = [&](std::int64_t offset) { return a.in<T>(0)[map * s.pixels + offset]; };
        a.out<T>(0)[i] = sampled<T>(s, point_taps<T>(s, point), pixel);
      }
    };
  });
}

// The weights of a point serve all channels.
Launcher points(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = grid_shape(p)](const LaunchArgs& a) {
      parallel_for(s.images * s.points, kElementwiseGrain / (16 * s.channels) + 1,
                   [&](std::int64_t begin, std::int64_t end, int) {
                     for (std::int64_t at = begin; at < end; ++at) {
                       const T* where = a.in<T>(1) + at * s.axes;
                       const PointTaps<T> taps = point_taps<T>(s, [&](int axis) { return where[axis]; });
                       const std::int64_t map = at / s.points * s.channels, to = at % s.points;
                       for (std::int64_t c = 0; c < s.channels; ++c) {
                         const T* x = a.in<T>(0) + (map + c) * s.pixels;
                         a.out<T>(0)[(map + c) * s.points + to] =
                             sampled<T>(s, taps, [&](std::int64_t offset) { return x[offset]; });
                       }
                     }
                   });
    };
  });
}

std::vector<Case> cases() {
  std::vector<Case> list;
  struct Trial {
    Tier tier;
    Shape x, grid;
  };
  for (const Trial& t : std::vector<Trial>{{Tier::ci, {1, 1, 1, 1}, {1, 2, 2, 2}},
                                           {Tier::ci, {2, 3, 5, 4}, {2, 3, 6, 2}},
                                           {Tier::ci, {2, 2, 3, 4, 5}, {2, 2, 3, 4, 3}},
                                           {Tier::smoke, {2, 16, 40, 30}, {2, 25, 35, 2}},
                                           {Tier::perf, {4, 64, 128, 128}, {4, 128, 128, 2}}})
    for (const std::string mode : {"linear", "nearest", "cubic"})
      for (const std::string padding : {"zeros", "border", "reflection"})
        for (std::int64_t align : {0, 1}) {
          if (mode == "cubic" && t.x.rank() == 5) continue;
          list.push_back({.tier = t.tier,
                          .inputs = {t.x, t.grid},
                          .attrs = {{"mode", mode}, {"padding", padding}, {"align_corners", align}}});
        }
  return list;
}

}  // namespace
}  // namespace grid_sample_cc

GridShape grid_shape(const Problem& p) {
  using namespace grid_sample_cc;
  const Shape &x = p.inputs[0].shape, &y = p.outputs[0].shape;
  const std::string mode = mode_of(p.attrs), padding = padding_of(p.attrs);
  GridShape s{.images = x[0], .channels = x[1], .axes = x.rank() - 2};
  for (int a = 0; a < s.axes; ++a) {
    s.extent[a] = x[a + 2];
    s.pixels *= x[a + 2];
    s.points *= y[a + 2];
  }
  s.mode = mode == "nearest" ? GridMode::nearest : mode == "linear" ? GridMode::linear : GridMode::cubic;
  s.padding = padding == "zeros"    ? GridPadding::zeros
              : padding == "border" ? GridPadding::border
                                    : GridPadding::reflection;
  s.align_corners = p.attrs.integer("align_corners") == 1;
  return s;
}

std::vector<Operator> grid_sample_operators() {
  using namespace grid_sample_cc;
  return {{.schema = {.name = std::string(kName), .infer = infer, .cost = cost, .onnx_opset = 20},
           .kernels = {{.name = "cuda:points",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_grid_sample_cuda)},
                       {.name = "cpu:points", .prepare = points},
                       {.name = "reference", .prepare = reference}},
           .cases = cases()}};
}

}  // namespace headroom
