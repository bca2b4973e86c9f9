#include "bench/conv2d_ladder.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "bench/conv2d_check.h"
#include "bench/conv2d_rungs.h"
#include "bench/published_conv2d.h"
#include "ops/operator.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr std::array kPasses = {Conv2dPass::forward, Conv2dPass::grad_input, Conv2dPass::grad_weight};

Ladder ladder_of(Conv2dPass pass) {
  Ladder ladder{.op = std::string(operator_name(pass)), .rungs = conv2d_cpu_rungs()};
  for (Rung& rung : conv2d_gpu_rungs()) ladder.rungs.push_back(std::move(rung));
  const std::vector<Kernel>& kernels = operator_of(ladder.op).kernels;
  std::erase_if(ladder.rungs, [&](const Rung& rung) {  // one that computes no gradients
    return std::ranges::find(kernels, rung.kernel, &Kernel::name) == kernels.end();
  });
  if (pass == Conv2dPass::grad_weight)  // no blocks to choose there
    for (Rung& rung : ladder.rungs)
      if (rung.variant.starts_with("tile=")) rung.variant.clear();
  return ladder;
}

std::string shape_text(const Conv2dSize& s) {
  std::string text = fmt::format("{}x{}x{}x{}, {} maps of {}x{}", s.batch, s.channels, s.height, s.width,
                                 s.maps, s.kernel, s.kernel);
  if (s.stride != 1) text += fmt::format(", stride {}", s.stride);
  if (s.padding != 0) text += fmt::format(", padding {}", s.padding);
  if (s.groups != 1) text += fmt::format(", {} groups", s.groups);
  return text;
}

MakeLadderCheck check_of_conv2d() {
  return [](const Problem& problem, const std::vector<HostTensor>& inputs, const Policy& policy) {
    return conv2d_check(problem, inputs, policy);
  };
}

// A few images tell how long a rung takes.
void add_small(const Conv2dSize& size, Conv2dPass pass, DType dtype, LadderOptions& options) {
  Conv2dSize small = size;
  small.batch = std::min<std::int64_t>(size.batch, 2);
  options.small = conv2d_ladder_problem(small, pass, dtype);
}

}  // namespace

std::string_view name_of(Conv2dPass pass) {
  return pass == Conv2dPass::forward      ? "forward"
         : pass == Conv2dPass::grad_input ? "input gradient"
                                          : "weight gradient";
}

std::string_view operator_name(Conv2dPass pass) {
  return pass == Conv2dPass::forward      ? "conv2d"
         : pass == Conv2dPass::grad_input ? "conv2d_grad_input"
                                          : "conv2d_grad_weight";
}

const Ladder& conv2d_ladder(Conv2dPass pass) {
  static const std::array ladders = {ladder_of(kPasses[0]), ladder_of(kPasses[1]), ladder_of(kPasses[2])};
  return ladders[static_cast<std::size_t>(pass)];
}

Ladder conv2d_rungs_of(const std::vector<Conv2dPass>& passes) {
  Ladder all{.op = "conv2d", .rungs = {}};
  for (const Conv2dPass pass : passes)
    for (const Rung& rung : conv2d_ladder(pass).rungs)
      if (std::ranges::find(all.rungs, rung.name, &Rung::name) == all.rungs.end()) all.rungs.push_back(rung);
  return all;
}

std::vector<std::string> conv2d_rungs_in(Conv2dPass pass, const std::vector<std::string>& names) {
  std::vector<std::string> own;
  const std::vector<Rung>& rungs = conv2d_ladder(pass).rungs;
  std::ranges::copy_if(names, std::back_inserter(own), [&](const std::string& name) {
    return std::ranges::find(rungs, name, &Rung::name) != rungs.end();
  });
  return own;
}

void require_conv2d_count(const char* name, std::int64_t value, std::int64_t least) {
  constexpr std::int64_t kLargest = 1 << 30;
  if (value < least || value > kLargest)
    reject(Hint{value < least ? fmt::format("{} or more", least) : fmt::format("{} or less", kLargest)},
           "`{}` is {}: from {} to {}", name, value, least, kLargest);
}

void require_conv2d_size(const Conv2dSize& s) {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"batch", s.batch}, {"channels", s.channels}, {"height", s.height}, {"width", s.width},
      {"maps", s.maps},   {"kernel", s.kernel},     {"stride", s.stride}, {"groups", s.groups}};
  for (const auto& [name, value] : counts) require_conv2d_count(name, value, 1);
  require_conv2d_count("padding", s.padding, 0);
  if (s.channels % s.groups != 0 || s.maps % s.groups != 0)
    reject(Hint{"a number that divides both"}, "`groups` {} does not divide {} channels and {} maps",
           s.groups, s.channels, s.maps);
  if (const std::int64_t least = std::min(s.height, s.width) + 2 * s.padding; s.kernel > least)
    reject(Hint{"a smaller `kernel`, or more `padding`"},
           "`kernel` {} is larger than the padded image of {} x {}", s.kernel, s.height + 2 * s.padding,
           s.width + 2 * s.padding);
  // Products of four sizes must not wrap, and some kernels count the padded image.
  const auto extent = [&](std::int64_t image) {
    return double((image + 2 * s.padding - s.kernel) / s.stride + 1);
  };
  const double largest =
      std::max({double(s.batch) * double(s.channels) * double(s.height) * double(s.width),
                double(s.batch) * double(s.maps) * extent(s.height) * extent(s.width),
                double(s.maps) * double(s.channels / s.groups) * double(s.kernel) * double(s.kernel)});
  if (largest > 1e15) reject(Hint{"smaller sizes"}, "{}: no machine has the memory", shape_text(s));
  const double padded = double(s.batch) * double(std::max(s.channels, s.maps)) *
                        double(s.height + 2 * s.padding) * double(s.width + 2 * s.padding);
  if (padded > 1e18)
    reject(Hint{"less `padding`"}, "{}: the padded images are too large to count", shape_text(s));
}

LadderProblem conv2d_ladder_problem(const Conv2dSize& s, Conv2dPass pass, DType dtype) {
  require_conv2d_size(s);
  const TensorType x{{s.batch, s.channels, s.height, s.width}, dtype};
  const TensorType w{{s.maps, s.channels / s.groups, s.kernel, s.kernel}, dtype};
  Attrs attrs = {{"groups", s.groups},
                 {"strides", Integers{s.stride, s.stride}},
                 {"pads", Integers{s.padding, s.padding, s.padding, s.padding}}};
  const TensorType y = operator_of("conv2d").schema.infer({x, w}, attrs).at(0);
  std::vector<TensorType> inputs = {x, w};
  if (pass == Conv2dPass::grad_input) {
    inputs = {y, w};
    attrs.set("input_shape", x.shape.vector());
  } else if (pass == Conv2dPass::grad_weight) {
    inputs = {x, y};
    attrs.set("weight_shape", w.shape.vector());
  }
  return {.name = s.name.empty() ? shape_text(s) : fmt::format("{}: {}", s.name, shape_text(s)),
          .inputs = inputs,
          .attrs = attrs};
}

std::vector<std::string> conv2d_workloads() { return {"ece408", "L1", "L2", "L3", "L4", "L5"}; }

std::vector<Conv2dSize> conv2d_workload(const std::string& name, std::int64_t images) {
  const auto layer = [&](std::string title, std::int64_t usual, std::int64_t channels, std::int64_t side,
                         std::int64_t maps, std::int64_t kernel) {
    return Conv2dSize{.name = std::move(title),
                      .batch = images != 0 ? images : usual,
                      .channels = channels,
                      .height = side,
                      .width = side,
                      .maps = maps,
                      .kernel = kernel};
  };
  if (name == "ece408") return {layer("conv1", 10000, 1, 72, 12, 7), layer("conv2", 10000, 12, 33, 24, 7)};
  if (name == "L1") return {layer("L1", 128, 3, 128, 96, 11)};
  if (name == "L2") return {layer("L2", 128, 64, 64, 128, 9)};
  if (name == "L3") return {layer("L3", 128, 128, 32, 128, 9)};
  if (name == "L4") return {layer("L4", 128, 128, 16, 128, 7)};
  if (name == "L5") return {layer("L5", 128, 384, 13, 384, 3)};
  reject(nearest(name, conv2d_workloads()), "`workload`: there is no '{}'", name);
}

LadderRun climb_conv2d(Device& device, const Machine& machine, const Conv2dSize& size, Conv2dPass pass,
                       DType dtype, LadderOptions options) {
  const Ladder& ladder = conv2d_ladder(pass);
  require_rungs(ladder, options.only);
  add_small(size, pass, dtype, options);
  LadderRun run =
      climb(device, machine, ladder, conv2d_ladder_problem(size, pass, dtype), check_of_conv2d(), options);
  if (pass == Conv2dPass::forward) run.published = published_conv2d_rungs(size);
  // The rung in fp16 has inputs of its own.
  const auto half = std::ranges::find(run.rungs, kHalfRung, [](const RungResult& r) { return r.rung.name; });
  if (half == run.rungs.end() || device.kind() == DeviceKind::cpu || dtype == DType::f16) return run;
  options.only = {std::string(kHalfRung)};
  add_small(size, pass, DType::f16, options);
  const LadderRun in_half = climb(device, machine, ladder, conv2d_ladder_problem(size, pass, DType::f16),
                                  check_of_conv2d(), options);
  *half = in_half.rungs.at(0);
  compare_times(run);
  return run;
}

LadderRun sweep_conv2d(Device& device, const Machine& machine, const Conv2dSize& size,
                       const Conv2dSweep& sweep, LadderOptions options) {
  Ladder ladder{.op = "conv2d", .rungs = {}};
  for (const std::int64_t block : sweep.blocks)
    for (const std::int64_t coarsen : sweep.coarsens) {
      const std::string variant = fmt::format("block={},coarsen={}", block, coarsen);
      ladder.rungs.push_back(
          {.name = variant, .title = variant, .kernel = std::string(kSweptKernel), .variant = variant});
    }
  options.only.clear(), options.counters.clear();
  return climb(device, machine, ladder, conv2d_ladder_problem(size, Conv2dPass::forward, DType::f32),
               check_of_conv2d(), options);
}

}  // namespace headroom
