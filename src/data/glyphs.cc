#include "data/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/random.h"
#include "data/glyph_raster.h"
#include "data/glyph_strokes.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace {

// How much writers differ. First fitted by eye to scanned digits, then by the accuracy of a LeNet-5 trained
// on glyphs for one epoch: 0.91 to 0.94 on MNIST and 0.990 to 0.995 on the glyphs' own test set (momentum
// 0.9, batch 64, learning rate 0.02, 0.05, and 0.05 falling to zero). More distortion lowers the latter and
// does not raise the former.
constexpr double kSlant = 0.15, kSlantSpread = 0.18;   // shear, to the right
constexpr double kTurnSpread = 0.09;                   // radians
constexpr double kStretchSpread = 0.17;                // log of height against width
constexpr double kJitter = 0.018, kEndJitter = 0.030;  // of single points; ends vary more
constexpr double kWave = 0.030;                        // amplitude of the smooth bending of the sheet
constexpr double kBox = 20.0 / 28;                     // part of the image the ink fills
constexpr double kPen = 1.08 / 28, kPenSpread = 0.27;  // radius as part of the image, and its log
constexpr int kSteps = 5;                              // straight pieces per span of a curve
constexpr std::size_t kMaxSegments = 128;

// Consecutive draws from one image's own stream.
class Draws {
 public:
  explicit Draws(Philox source) : source_(source) {}
  double uniform() {
    if (used_ == 4) block_ = source_.block(next_++), used_ = 0;
    return double(block_[used_++]) * 0x1p-32;
  }
  double between(double low, double high) { return low + (high - low) * uniform(); }
  // Sum of four uniforms: close to normal and never beyond 3.5 deviations, so no digit becomes unreadable.
  double bell() { return (uniform() + uniform() + uniform() + uniform() - 2) * std::numbers::sqrt3; }

 private:
  Philox source_;
  std::array<std::uint32_t, 4> block_{};
  std::size_t used_ = 4;
  std::uint64_t next_ = 0;
};

const GlyphStyle& choose_style(int digit, Draws& draws) {
  const auto styles = glyph_styles(digit);
  double total = 0;
  for (const GlyphStyle& style : styles) total += style.weight;
  double left = draws.uniform() * total;
  for (const GlyphStyle& style : styles)
    if ((left -= style.weight) < 0) return style;
  return styles.back();
}

// A point on the Catmull-Rom curve from b to c.
Point spline(Point a, Point b, Point c, Point d, double t) {
  auto one = [t](double p, double q, double r, double s) {
    return q + 0.5 * t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p)));
  };
  return {one(a.x, b.x, c.x, d.x), one(a.y, b.y, c.y, d.y)};
}

// Distorts the sheet: three waves of random direction displace every point smoothly, then it is stretched,
// slanted and rotated.
class Sheet {
 public:
  explicit Sheet(Draws& draws) {
    for (Wave& wave : waves_) {
      const double direction = draws.between(0, 2 * std::numbers::pi), pitch = draws.between(2.5, 6);
      wave = {pitch * std::cos(direction), pitch * std::sin(direction),
              draws.between(0, 2 * std::numbers::pi), kWave * draws.bell(), kWave * draws.bell()};
    }
    const double stretch = std::exp(kStretchSpread * draws.bell());
    const double slant = kSlant + kSlantSpread * draws.bell(), turn = kTurnSpread * draws.bell();
    const double c = std::cos(turn), s = std::sin(turn);
    xx_ = c, xy_ = (-c * slant - s) * stretch, yx_ = s, yy_ = (c - s * slant) * stretch;
  }
  Point map(Point p) const {
    double x = p.x - 0.5, y = p.y - 0.5;
    for (const Wave& wave : waves_) {
      const double height = std::sin(wave.kx * p.x + wave.ky * p.y + wave.phase);
      x += wave.dx * height, y += wave.dy * height;
    }
    return {xx_ * x + xy_ * y, yx_ * x + yy_ * y};
  }

 private:
  struct Wave {
    double kx, ky, phase, dx, dy;
  };
  std::array<Wave, 3> waves_;
  double xx_, xy_, yx_, yy_;
};

struct Path {
  std::array<InkSegment, kMaxSegments> segments;
  std::size_t count = 0;
  std::span<InkSegment> used() { return {segments.data(), count}; }
};

// Adds one stroke as straight pieces in sheet coordinates.
void trace(std::string_view stroke, std::span<const Point> points, const Sheet& sheet, Path& path) {
  auto at = [&](std::size_t i) { return points[static_cast<std::size_t>(stroke[i] - 'a')]; };
  const std::size_t n = stroke.size();
  const bool loop = n > 3 && stroke.front() == stroke.back();
  Point from = sheet.map(at(0));
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const Point before = i > 0 ? at(i - 1) : loop ? at(n - 2) : at(0);
    const Point after = i + 2 < n ? at(i + 2) : loop ? at(1) : at(n - 1);
    for (int step = 1; step <= kSteps && path.count < kMaxSegments; ++step) {
      const Point to = sheet.map(spline(before, at(i), at(i + 1), after, double(step) / kSteps));
      path.segments[path.count++] = {float(from.x), float(from.y), float(to.x), float(to.y), 1, 1};
      from = to;
    }
  }
}

Path write_digit(int digit, Draws& draws) {
  const GlyphStyle& style = choose_style(digit, draws);
  std::array<Point, 16> points;
  std::copy(style.points.begin(), style.points.end(), points.begin());
  auto jitter = [&](Point& p, double spread) {
    p = {p.x + spread * draws.bell(), p.y + spread * draws.bell()};
  };
  for (std::size_t i = 0; i < style.points.size(); ++i) jitter(points[i], kJitter);
  const Sheet sheet(draws);
  Path path;
  for (std::string_view rest = style.pen; !rest.empty();) {
    const std::string_view stroke = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(rest.size(), stroke.size() + 1));
    for (char end : {stroke.front(), stroke.back()})
      if (std::count(style.pen.begin(), style.pen.end(), end) == 1)
        jitter(points[static_cast<std::size_t>(end - 'a')], kEndJitter);
    trace(stroke, points, sheet, path);
  }
  return path;
}

// Pressure changes slowly along the stroke.
void press(Path& path, double radius, Draws& draws) {
  const double depth = draws.between(0, 0.25), phase = draws.between(0, 2 * std::numbers::pi);
  const double pitch = draws.between(1, 6) / double(path.count);
  auto at = [&](std::size_t i) { return float(radius * (1 + depth * std::sin(phase + pitch * double(i)))); };
  for (std::size_t i = 0; i < path.count; ++i) path.segments[i].r0 = at(i), path.segments[i].r1 = at(i + 1);
}

// Scales the ink into its box and puts its centre of mass into the middle of the image.
void place(Path& path, double radius, std::int64_t size, Draws& draws) {
  double low_x = 1e9, low_y = 1e9, high_x = -1e9, high_y = -1e9, mass = 0, mass_x = 0, mass_y = 0;
  for (const InkSegment& s : path.used()) {
    low_x = std::min<double>({low_x, s.x0, s.x1}), high_x = std::max<double>({high_x, s.x0, s.x1});
    low_y = std::min<double>({low_y, s.y0, s.y1}), high_y = std::max<double>({high_y, s.y0, s.y1});
    const double m = std::hypot(s.x1 - s.x0, s.y1 - s.y0);
    mass += m, mass_x += m * (s.x0 + s.x1) / 2, mass_y += m * (s.y0 + s.y1) / 2;
  }
  const double room = kBox * double(size) * draws.between(0.88, 1.06) - 2 * radius;
  const double scale = room / std::max({high_x - low_x, high_y - low_y, 1e-6});
  const double shift = double(size) / 28 * 0.5;
  const double x = double(size) / 2 - scale * mass_x / mass + shift * draws.bell();
  const double y = double(size) / 2 - scale * mass_y / mass + shift * draws.bell();
  for (InkSegment& s : path.used()) {
    s.x0 = float(x + scale * s.x0), s.x1 = float(x + scale * s.x1);
    s.y0 = float(y + scale * s.y0), s.y1 = float(y + scale * s.y1);
  }
}

// Converts coverage to bytes, with the grain of ink on paper: darker spots inside, none on the blank sheet.
void expose(std::span<const float> ink, double strength, double grain, Draws& draws,
            std::span<std::uint8_t> pixels) {
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    if (ink[i] <= 0) {
      pixels[i] = 0;
      continue;
    }
    const double value = std::min(1.0, ink[i] * strength) * (1 - grain * draws.uniform());
    pixels[i] = static_cast<std::uint8_t>(std::lround(255 * value));
  }
}

Philox stream_for(std::uint64_t seed, int split, std::int64_t index) {
  return Philox(seed, stream_of(0x676C7970 + std::uint64_t(split), std::uint64_t(index)));
}

struct Canvas {
  explicit Canvas(std::int64_t size) : ink(std::size_t(size * size)), scratch(ink.size()) {}
  std::vector<float> ink, scratch;
};

void draw_on(Canvas& canvas, std::uint64_t seed, int split, std::int64_t index, std::int64_t size,
             std::span<std::uint8_t> pixels) {
  Draws draws(stream_for(seed, split, index));
  Path path = write_digit(glyph_label(seed, split, index), draws);
  const double pixel = double(size) / 28;
  const double radius = std::max(kPen * double(size) * std::exp(kPenSpread * draws.bell()), 0.45);
  place(path, radius, size, draws);
  press(path, radius, draws);
  raster(path.used(), float(std::max(1.0, pixel * draws.between(0.8, 1.4))), size, canvas.ink);
  soften(canvas.ink, canvas.scratch, size, float(draws.between(0, 0.4)));
  expose(canvas.ink, draws.between(1.1, 1.8), draws.between(0, 0.1), draws, pixels);
}

Split draw_split(const GlyphOptions& options, int split, std::int64_t count) {
  const std::int64_t pixels = options.size * options.size;
  Split drawn;
  drawn.image = {1, options.size, options.size};
  drawn.pixels.resize(std::size_t(count * pixels));
  drawn.labels.resize(std::size_t(count));
  parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end, int) {
    Canvas canvas(options.size);
    for (std::int64_t i = begin; i < end; ++i) {
      drawn.labels[std::size_t(i)] = static_cast<std::uint8_t>(glyph_label(options.seed, split, i));
      draw_on(canvas, options.seed, split, i, options.size,
              std::span(drawn.pixels).subspan(std::size_t(i * pixels), std::size_t(pixels)));
    }
  });
  return drawn;
}

}  // namespace

// Every ten consecutive images contain each digit once, in random order.
int glyph_label(std::uint64_t seed, int split, std::int64_t index) {
  const Philox order(seed, stream_of(0x6F726465 + std::uint64_t(split), std::uint64_t(index / 10)));
  std::array<int, 10> digits = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  for (std::uint64_t i = 9; i > 0; --i) std::swap(digits[i], digits[order.below(i, i + 1)]);
  return digits[std::size_t(index % 10)];
}

void draw_glyph(std::uint64_t seed, int split, std::int64_t index, std::int64_t size,
                std::span<std::uint8_t> pixels) {
  Canvas canvas(size);
  draw_on(canvas, seed, split, index, size, pixels);
}

Dataset make_glyphs(const GlyphOptions& options) {
  if (options.size < kSmallestGlyph || options.size > kLargestGlyph)
    reject(Hint{fmt::format("take {} to {} pixels", kSmallestGlyph, kLargestGlyph)},
           "glyphs of {0}x{0} pixels cannot be drawn", options.size);
  return {"glyphs", 10, draw_split(options, 0, options.train), draw_split(options, 1, options.test)};
}

}  // namespace headroom
