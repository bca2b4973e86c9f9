#include "ops/conv2d/cuda/rungs.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/error.h"

namespace headroom {

using cuda::Sweep;

Verdict accepts_rung(const Problem& p, const Sweep& s, DType dtype) {
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list)
      if (type.dtype != dtype)
        return refuse(
            fmt::format("a rung of the ladder: takes {}, not {}", name_of(dtype), name_of(type.dtype)));
  constexpr std::int64_t kMax = 1LL << 31;
  const std::int64_t groups = s.groups;
  if (groups * s.channels * s.in_plane() >= kMax || groups * s.maps * s.out_plane() >= kMax ||
      std::int64_t{s.depth()} * s.out_plane() >= kMax || groups * s.weight_group >= kMax)
    return refuse("larger than its 32-bit indices");
  if (groups * std::max(s.maps, s.channels) > 65535)
    return refuse("more than 65,535 maps or channels: a grid has no more");
  return accept();
}

std::int64_t plane_tiles(const Sweep& s, int block) {
  return ceil_div(s.out_h, block) * ceil_div(s.out_w, block);
}

double seen_bytes(const Sweep& s, int rows, int columns) {
  const auto extent = [](int outputs, int mul, int div, int kernel, int step, int in) {
    const int all = ((outputs - 1) * mul + (kernel - 1) * std::abs(step)) / div + 1;
    return double(std::min(all, in));
  };
  return 4.0 * s.channels * extent(rows, s.mul_h, s.div_h, s.kernel_h, s.step_h, s.in_h) *
         extent(columns, s.mul_w, s.div_w, s.kernel_w, s.step_w, s.in_w);
}

std::vector<std::string> rung_shapes(std::initializer_list<int> blocks, std::initializer_list<int> coarsens) {
  std::vector<std::string> names;
  for (const int coarsen : coarsens)
    for (const int block : blocks)
      names.push_back(coarsens.size() > 1 ? fmt::format("block={},coarsen={}", block, coarsen)
                                          : fmt::format("block={}", block));
  return names;
}

namespace {

int number_in(std::string_view kernel, std::string_view part, std::string_view digits) {
  int value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    reject(Hint{"block=16,coarsen=2"}, "kernel '{}' does not understand '{}'", kernel, part);
  return value;
}

}  // namespace

RungShape parse_rung_shape(std::string_view kernel, const std::string& variant, const Sweep& s,
                           std::initializer_list<int> coarsens) {
  RungShape shape;
  for (std::string_view rest = variant; !rest.empty();) {
    const std::string_view part = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    if (part.starts_with("block="))
      shape.block = number_in(kernel, part, part.substr(6));
    else if (part.starts_with("coarsen="))
      shape.coarsen = number_in(kernel, part, part.substr(8));
    else
      reject(Hint{"block=16,coarsen=2"}, "kernel '{}' has no setting '{}'", kernel, part);
  }
  if (shape.block < 1 || shape.block > 32)
    reject(Hint{"from 1 to 32"}, "kernel '{}' refuses blocks of {} x {} threads: a block has at most 1,024",
           kernel, shape.block, shape.block);
  if (plane_tiles(s, shape.block) > 65535)
    reject(Hint{"a larger block"}, "kernel '{}' refuses blocks of {} x {}: {} tiles, and a grid has 65,535",
           kernel, shape.block, shape.block, plane_tiles(s, shape.block));
  if (std::ranges::find(coarsens, shape.coarsen) == coarsens.end())
    reject(Hint{fmt::format("{}", fmt::join(coarsens, ", "))},
           "kernel '{}' refuses {} maps a thread: it is compiled for other numbers", kernel, shape.coarsen);
  return shape;
}

Work rung_work(const Problem& p, const Target& target, std::string_view family, std::int64_t blocks,
               double l2_bytes, ProductExtent tile) {
  Work work = least_work(p, target);
  work.with(family, Unit::fp32, extent_of(p));
  work.main().blocks = blocks;
  work.main().l2_bytes = std::max(l2_bytes, work.main().bytes);
  work.main().tile = tile;
  work.main().executed = flops_inside(p);
  return work;
}

}  // namespace headroom
