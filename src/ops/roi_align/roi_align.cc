#include "ops/roi_align/roi_align.h"

#include "ops/expect.h"
#include "ops/gather/indices.h"
#include "ops/roi_align/bins.h"

namespace headroom {

RoiShape roi_shape(const Problem& p) {
  const Shape& x = p.inputs[0].shape;
  const std::vector<std::int64_t> output = p.attrs.integers("output");
  return {.images = x[0],
          .channels = x[1],
          .regions = p.inputs[1].shape[0],
          .rows = static_cast<int>(x[2]),
          .columns = static_cast<int>(x[3]),
          .output_rows = static_cast<int>(output[0]),
          .output_columns = static_cast<int>(output[1]),
          .sampling_ratio = static_cast<int>(p.attrs.integer("sampling_ratio")),
          .spatial_scale = p.attrs.real("spatial_scale", 1),
          .max = p.attrs.text("mode", "avg") == "max",
          .half_pixel = p.attrs.integer("half_pixel", 1) == 1};
}

namespace roi_align_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr std::string_view kOp = "roi_align";
  expect_inputs(kOp, in, 3);
  expect_float(kOp, in[0]);
  expect_rank(kOp, in[0], 4, "[N, C, H, W]");
  const Shape& regions = in[1].shape;
  if (in[1].dtype != in[0].dtype || regions.rank() != 2 || regions[1] != 4)
    reject("{}: regions are [R, 4] of {}, not {} of {}", kOp, name_of(in[0].dtype), regions.str(),
           name_of(in[1].dtype));
  if ((in[2].dtype != DType::i32 && in[2].dtype != DType::i64) || in[2].shape != Shape{regions[0]})
    reject("{}: it needs one int32 or int64 for each of {} regions", kOp, regions[0]);
  const std::vector<std::int64_t> output = attrs.integers("output");
  if (output.size() != 2 || output[0] < 1 || output[1] < 1 || output[0] > INT32_MAX || output[1] > INT32_MAX)
    reject("{}: its output is [{}], not a height and a width", kOp, fmt::join(output, ","));
  if (const auto ratio = attrs.integer("sampling_ratio"); ratio < 0 || ratio > 1000)
    reject("{}: a sampling_ratio of {}", kOp, ratio);
  if (const std::string mode = attrs.text("mode", "avg"); mode != "avg" && mode != "max")
    reject(Hint{"avg or max"}, "{}: mode is '{}'", kOp, mode);
  return {{{regions[0], in[0].shape[1], output[0], output[1]}, in[0].dtype}};
}

// No more of the image is read than there are results, at one point each.
Cost cost(const Problem& p) {
  Cost c;
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  const std::int64_t ratio = p.attrs.integer("sampling_ratio");
  c.bytes_written = static_cast<double>(p.outputs[0].bytes());
  c.bytes_read = c.bytes_written + static_cast<double>(p.inputs[1].bytes() + p.inputs[2].bytes());
  c.other = 8 * n * static_cast<double>(ratio > 0 ? ratio * ratio : 1);
  return c;
}

// All bins of one channel of one region.
template <class T, class I>
void align(const RoiShape& s, const T* x, const T* regions, const I* images, std::int64_t at, T* y) {
  const std::int64_t region = at / s.channels, channel = at % s.channels;
  const std::int64_t image = images[region] < 0 ? images[region] + s.images : std::int64_t{images[region]};
  const T* map = x + (image * s.channels + channel) * s.rows * s.columns;
  const auto pixel = [&](int row, int column) { return map[std::int64_t{row} * s.columns + column]; };
  T* to = y + at * s.output_rows * s.output_columns;
  for (int row = 0; row < s.output_rows; ++row)
    for (int column = 0; column < s.output_columns; ++column)
      *to++ = roi_bin<T>(s, regions + 4 * region, row, column, pixel);
}

Launcher prepare(const Problem& p, bool threads) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[2].dtype, [&]<class I>() -> Launcher {
      return [s = roi_shape(p), threads](const LaunchArgs& a) {
        check_indices({.op = "roi_align", .extent = s.images, .count = s.regions}, a.in<I>(2));
        const std::int64_t maps = s.regions * s.channels;
        const std::int64_t work = std::int64_t{64} * s.output_rows * s.output_columns;
        parallel_for(maps, threads ? kElementwiseGrain / work + 1 : maps + 1,
                     [&](std::int64_t begin, std::int64_t end, int) {
                       for (std::int64_t at = begin; at < end; ++at)
                         align(s, a.in<T>(0), a.in<T>(1), a.in<I>(2), at, a.out<T>(0));
                     });
      };
    });
  });
}

Launcher maps(const Problem& p, const LaunchContext&) { return prepare(p, true); }
Launcher reference(const Problem& p, const LaunchContext&) { return prepare(p, false); }

std::vector<Case> cases() {
  struct Trial {
    Tier tier;
    Shape x;
    std::int64_t regions, rows, columns, ratio;
    double scale;
  };
  std::vector<Case> list;
  for (const Trial& t : std::vector<Trial>{{Tier::ci, {1, 1, 1, 1}, 1, 1, 1, 1, 1},
                                           {Tier::ci, {2, 3, 9, 7}, 4, 3, 2, 2, 2},
                                           {Tier::ci, {2, 3, 9, 7}, 4, 2, 3, 0, 5},
                                           {Tier::smoke, {3, 16, 30, 40}, 25, 7, 7, 2, 10},
                                           {Tier::perf, {1, 256, 50, 68}, 300, 7, 7, 2, 20}})
    for (const std::string mode : {"avg", "max"})
      for (std::int64_t half : {0, 1})
        list.push_back({.tier = t.tier,
                        .inputs = {t.x, {t.regions, 4}, {t.regions}},
                        .attrs = {{"output", std::vector<std::int64_t>{t.rows, t.columns}},
                                  {"sampling_ratio", t.ratio},
                                  {"spatial_scale", t.scale},
                                  {"mode", mode},
                                  {"half_pixel", half}},
                        .fills = {{}, {Fill::Kind::positive}, {Fill::Kind::label, double(t.x[0])}},
                        .dtypes = {{}, {}, half == 1 ? DType::i64 : DType::i32}});
  return list;
}

double sum_length(const Problem& p) {
  const std::int64_t ratio = p.attrs.integer("sampling_ratio");
  return 4.0 * static_cast<double>(ratio > 0 ? ratio * ratio : 16);
}

}  // namespace
}  // namespace roi_align_cc

std::vector<Operator> roi_align_operators() {
  using namespace roi_align_cc;
  return {{.schema = {.name = "roi_align", .infer = infer, .cost = cost, .onnx_opset = 16},
           .kernels = {{.name = "cuda:bins",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_roi_align_cuda)},
                       {.name = "cpu:maps", .prepare = maps},
                       {.name = "reference", .prepare = reference}},
           .cases = cases(),
           .sum_length = sum_length}};
}

}  // namespace headroom
