#include "bench/conv2d_lines.h"

#include <algorithm>
#include <cmath>

#include <omp.h>

#include "base/random.h"
#include "device/device.h"
#include "plan/plan.h"

namespace headroom {
namespace {

using Reals = std::vector<double>;

std::size_t size_at(std::int64_t n) { return static_cast<std::size_t>(n); }

// By the CPU's own kernel, which the operators' tests hold against the plain loops.
Reals in_fp64(Problem problem, const std::vector<Reals>& inputs) {
  for (auto* list : {&problem.inputs, &problem.outputs})
    for (TensorType& type : *list) type.dtype = DType::f64;
  const auto cpu = open_device("cpu", omp_get_max_threads());
  const Target target(cpu->capabilities());
  const Kernel& kernel = *first_that_accepts(problem, target).kernel;
  const Buffer workspace =
      cpu->allocate(std::max<std::size_t>(kernel.workspace ? kernel.workspace(problem, target) : 0, 1));
  Reals result(size_at(problem.outputs.at(0).shape.numel()));
  std::vector<const void*> in;
  for (const Reals& input : inputs) in.push_back(input.data());
  void* out[] = {result.data()};
  kernel.prepare(problem,
                 {.target = target, .device = cpu.get()})({in.data(), out, workspace.data(), &cpu->stream()});
  return result;
}

// The same problem with another extent along one axis of a tensor.
TensorType with_extent(const TensorType& type, int axis, std::int64_t extent) {
  std::vector<std::int64_t> extents = type.shape.vector();
  extents[size_at(axis)] = extent;
  return {Shape(extents), type.dtype};
}

// A line with at most 64 MB of images at once.
std::int64_t at_once(std::int64_t elements) {
  return std::max<std::int64_t>(1, (8 << 20) / std::max<std::int64_t>(1, elements));
}

}  // namespace

Conv2dLines::Conv2dLines(const Problem& problem, const std::vector<HostTensor>& inputs)
    : problem_(problem),
      conv_(parse_conv2d(problem)),
      inputs_(inputs),
      by_maps_(problem.op == "conv2d_grad_weight"),
      groups_(by_maps_ ? conv_.groups : 1),
      per_group_(by_maps_ ? conv_.group_maps() : conv_.batch) {
  if (conv_.bias || conv_.activation != Activation::none || problem.op == "conv2d_block")
    fail("the check of conv2d takes neither bias nor activation");
  flops_ = cost_conv2d(problem).multiply_add;
  length_ = problem.outputs.at(0).shape.numel() / lines();
  const double outputs = double(problem.outputs[0].shape.numel());
  // A pixel in the middle is in more windows than the mean.
  terms_ =
      std::max(flops_ / outputs,
               problem.op == "conv2d_grad_input" ? 2.0 * double(conv_.group_maps() * conv_.taps()) : 0.0);
  const Philox random(0xc02d);
  for (std::int64_t i = 0; i < lines(); ++i)
    signs_.push_back(random.bits(static_cast<std::uint64_t>(i)) & 1 ? 1 : -1);
}

std::vector<Conv2dLines::Run> Conv2dLines::runs(std::int64_t width) const {
  std::vector<Run> list;
  for (std::int64_t g = 0; g < groups_; ++g)
    for (std::int64_t i = 0; i < per_group_; i += width)
      list.push_back({g * per_group_ + i, std::min(width, per_group_ - i)});
  return list;
}

std::vector<Conv2dLines::Run> Conv2dLines::some_lines(std::int64_t count) const {
  std::vector<Run> list;
  count = std::clamp<std::int64_t>(count, 1, per_group_);
  for (std::int64_t g = 0; g < groups_; ++g)
    for (std::int64_t i = 0; i < count; ++i)
      list.push_back({g * per_group_ + (count == 1 ? 0 : i * (per_group_ - 1) / (count - 1)), 1});
  return list;
}

std::string Conv2dLines::name(std::int64_t line, std::int64_t element) const {
  const bool input = problem_.op == "conv2d_grad_input";
  const Extent2d plane = by_maps_ ? conv_.window.kernel : input ? conv_.window.input : conv_.window.output;
  const std::int64_t size = plane.h * plane.w;
  return fmt::format("{} {}: {} {}, row {}, column {}", by_maps_ ? "map" : "image", line,
                     by_maps_ || input ? "channel" : "map", element / size, element % size / plane.w,
                     element % plane.w);
}

// Adds sign * line of the input to `to`: an image; of a map the planes of some images.
void Conv2dLines::add_line(std::int64_t line, std::int64_t first_image, std::int64_t images,
                           double* to) const {
  const HostTensor& from = inputs_[by_maps_ ? 1 : 0];
  const std::int64_t image = from.type.shape.numel() / conv_.batch;
  const std::int64_t plane = by_maps_ ? conv_.output_plane() : image;
  Reals values(size_at(plane));
  for (std::int64_t n = 0; n < (by_maps_ ? images : 1); ++n) {
    from.read(by_maps_ ? (first_image + n) * image + line * plane : line * image, plane, values.data());
    for (std::int64_t i = 0; i < plane; ++i) to[n * plane + i] += sign(line) * values[size_at(i)];
  }
}

std::vector<double> Conv2dLines::results(const std::vector<Run>& runs) const {
  return by_maps_ ? results_by_maps(runs) : results_by_images(runs);
}

Reals Conv2dLines::results_by_images(const std::vector<Run>& runs) const {
  const std::int64_t line = inputs_[0].type.shape.numel() / conv_.batch, count = std::ssize(runs);
  std::vector<Reals> inputs(2);
  inputs[1].resize(size_at(inputs_[1].type.shape.numel()));
  inputs_[1].read(0, std::ssize(inputs[1]), inputs[1].data());
  Reals all;
  for (std::int64_t first = 0; first < count; first += at_once(line)) {
    const std::int64_t part = std::min(at_once(line), count - first);
    inputs[0].assign(size_at(part * line), 0.0);
    for (std::int64_t r = 0; r < part; ++r)
      for (std::int64_t i = 0; i < runs[size_at(first + r)].count; ++i)
        add_line(runs[size_at(first + r)].first + i, 0, 0, inputs[0].data() + r * line);
    Problem reduced = problem_;
    reduced.inputs[0] = with_extent(problem_.inputs[0], 0, part);
    reduced.outputs[0] = with_extent(problem_.outputs[0], 0, part);
    if (problem_.op == "conv2d_grad_input")
      reduced.attrs.set("input_shape", reduced.outputs[0].shape.vector());
    const Reals results = in_fp64(reduced, inputs);
    all.insert(all.end(), results.begin(), results.end());
  }
  return all;
}

// Summed over all images, some at a time. Runs come group by group, equally many each.
Reals Conv2dLines::results_by_maps(const std::vector<Run>& runs) const {
  const std::int64_t image = conv_.input_image(), plane = conv_.output_plane(), count = std::ssize(runs);
  const std::int64_t part = std::min(conv_.batch, at_once(image + count * plane));
  Reals all(size_at(count * length_));
  for (std::int64_t first = 0; first < conv_.batch; first += part) {
    const std::int64_t images = std::min(part, conv_.batch - first);
    std::vector<Reals> inputs = {Reals(size_at(images * image)), Reals(size_at(images * count * plane))};
    inputs_[0].read(first * image, images * image, inputs[0].data());
    Reals planes(size_at(images * plane));
    for (std::int64_t r = 0; r < count; ++r) {
      std::ranges::fill(planes, 0.0);
      for (std::int64_t i = 0; i < runs[size_at(r)].count; ++i)
        add_line(runs[size_at(r)].first + i, first, images, planes.data());
      for (std::int64_t n = 0; n < images; ++n)
        std::copy_n(planes.begin() + n * plane, plane, inputs[1].begin() + (n * count + r) * plane);
    }
    Problem reduced = problem_;
    reduced.inputs[0] = with_extent(problem_.inputs[0], 0, images);
    reduced.inputs[1] = with_extent(with_extent(problem_.inputs[1], 0, images), 1, count);
    reduced.outputs[0] = with_extent(problem_.outputs[0], 0, count);
    reduced.attrs.set("weight_shape", reduced.outputs[0].shape.vector());
    const Reals results = in_fp64(reduced, inputs);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] += results[i];
  }
  return all;
}

}  // namespace headroom
