#include "data/resize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "data/dataset.h"
#include "device/device.h"

namespace headroom {
namespace {

// The two pixels around a result (-1 and `extent` are outside), and the weight of the second.
struct Between {
  std::int64_t low, high;
  double share;
};

std::vector<Between> steps(std::int64_t from, std::int64_t to) {
  std::vector<Between> all;
  const double scale = double(from) / double(to);
  for (std::int64_t i = 0; i < to; ++i) {
    const double place = (double(i) + 0.5) * scale - 0.5, below = std::floor(place);
    const auto low = static_cast<std::int64_t>(below);
    all.push_back({low, low + 1, place - below});
  }
  return all;
}

class Plane {
 public:
  Plane(std::span<const std::uint8_t> pixels, PlaneSize size, ResizeRule rule)
      : pixels_(pixels), size_(size), edge_(rule == ResizeRule::edge) {}

  double at(std::int64_t row, std::int64_t column) const {
    if (edge_) {
      row = std::clamp<std::int64_t>(row, 0, size_.rows - 1);
      column = std::clamp<std::int64_t>(column, 0, size_.columns - 1);
    } else if (row < 0 || row >= size_.rows || column < 0 || column >= size_.columns) {
      return 0;
    }
    return pixels_[static_cast<std::size_t>(row * size_.columns + column)];
  }

 private:
  std::span<const std::uint8_t> pixels_;
  PlaneSize size_;
  bool edge_;
};

double mix(double a, double b, double share) { return (1 - share) * a + share * b; }

}  // namespace

ResizeRule parse_resize_rule(std::string_view name) {
  if (name == "edge") return ResizeRule::edge;
  if (name == "zero") return ResizeRule::zero;
  reject(nearest(name, std::vector<std::string>{"edge", "zero"}), "`resize` does not know the rule '{}'",
         name);
}

// The zero rule divides by 256 first and multiplies at the end. Powers of two change no digit, so this is
// left out.
void resize_plane(std::span<const std::uint8_t> in, PlaneSize from, std::span<std::uint8_t> out, PlaneSize to,
                  ResizeRule rule) {
  const std::vector<Between> rows = steps(from.rows, to.rows), columns = steps(from.columns, to.columns);
  const Plane plane(in, from, rule);
  const double rounding = rule == ResizeRule::edge ? 0.5 : 0;
  std::uint8_t* pixel = out.data();
  for (const Between& r : rows)
    for (const Between& c : columns) {
      const double above = mix(plane.at(r.low, c.low), plane.at(r.low, c.high), c.share);
      const double below = mix(plane.at(r.high, c.low), plane.at(r.high, c.high), c.share);
      *pixel++ = static_cast<std::uint8_t>(mix(above, below, r.share) + rounding);
    }
}

void resize_images(Split& split, PlaneSize to, ResizeRule rule) {
  const PlaneSize from{split.image[1], split.image[2]};
  if (from == to) return;
  const std::int64_t planes = split.count() * split.image[0];
  const double bytes = double(planes) * double(to.rows) * double(to.columns);
  const double memory = double(cpu_capabilities(1).memory_bytes);
  if (bytes > memory / 2)
    reject(Hint{"ask for fewer or smaller images"},
           "{} images of {}x{} pixels would take {}; this machine has {}", with_commas(split.count()),
           to.rows, to.columns, human_bytes(bytes), human_bytes(memory));
  const std::int64_t in_plane = from.rows * from.columns, out_plane = to.rows * to.columns;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(planes * out_plane));
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < planes; ++i)
    resize_plane(std::span(split.pixels).subspan(std::size_t(i * in_plane), std::size_t(in_plane)), from,
                 std::span(out).subspan(std::size_t(i * out_plane), std::size_t(out_plane)), to, rule);
  split.pixels = std::move(out);
  split.image = {split.image[0], to.rows, to.columns};
}

}  // namespace headroom
