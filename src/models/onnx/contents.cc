#include "models/onnx/contents.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace headroom::onnx {
namespace {

constexpr std::int64_t kSampled = 1 << 18;  // elements that are looked at; a file may hold millions
constexpr std::int64_t kSmall = 16;         // fewer elements say nothing about their origin
constexpr double kExact = 2e-3;             // rounding of tables that were computed in fp32 or fp16

std::vector<double> sample(const ConstantData& tensor) {
  std::vector<double> values;
  const std::int64_t count = std::min(tensor.count(), kSampled);
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values.push_back(tensor.real(tensor.repeated ? 0 : i));
  return values;
}

// The elements along one axis, for one position on all other axes.
struct Lines {
  std::int64_t length, stride, count;
  Lines(const Shape& shape, int axis) : length(shape[axis]), stride(1), count(shape.numel() / shape[axis]) {
    for (int a = axis + 1; a < shape.rank(); ++a) stride *= shape[a];
  }
  std::int64_t element(std::int64_t line, std::int64_t place) const {
    return line / stride * stride * length + line % stride + place * stride;
  }
};

// A stretch of one line. Long ones begin behind the first elements: some tables clear the first rows.
std::vector<double> stretch(const ConstantData& t, const Lines& lines, std::int64_t line) {
  constexpr std::int64_t kMax = 64;
  const std::int64_t first = lines.length >= kSmall ? lines.length / 4 : 0;
  std::vector<double> values;
  for (std::int64_t p = first; p < std::min(lines.length, first + kMax); ++p)
    values.push_back(t.real(lines.element(line, p)));
  return values;
}

constexpr std::int64_t kShortestLine = 8;
constexpr std::int64_t kLines = 256;  // looked at, spread over all of them

std::vector<std::int64_t> chosen_lines(const Lines& lines) {
  std::vector<std::int64_t> chosen;
  const std::int64_t n = std::min(lines.count, kLines);
  for (std::int64_t i = 0; i < n; ++i) chosen.push_back(i * lines.count / n);
  return chosen;
}

// x[p+1] + x[p-1] = k x[p] holds for sines and cosines of p, with k = 2 cos(frequency).
struct Wave {
  bool fits = false, flat = false;
  double k = 2;
};

Wave wave_of(const std::vector<double>& x) {
  const auto [least, most] = std::ranges::minmax(x);
  const double size = std::max(std::abs(least), std::abs(most));
  if (most - least <= kExact * size) return {.fits = true, .flat = true};
  double dot = 0, square = 0;
  for (std::size_t p = 1; p + 1 < x.size(); ++p) dot += x[p] * (x[p + 1] + x[p - 1]), square += x[p] * x[p];
  Wave wave{.k = square > 0 ? dot / square : 0};
  wave.fits = std::abs(wave.k) <= 2 + kExact;
  for (std::size_t p = 1; p + 1 < x.size() && wave.fits; ++p)
    wave.fits = std::abs(x[p + 1] + x[p - 1] - wave.k * x[p]) <= kExact * (most - least);
  return wave;
}

// Waves of different frequencies along an axis. One frequency alone could be somebody's way to fill weights.
bool has_waves(const ConstantData& t, int axis) {
  const Lines lines(t.type.shape, axis);
  if (lines.length < kShortestLine || lines.count < 2) return false;
  std::set<std::int64_t> frequencies;
  for (std::int64_t line : chosen_lines(lines)) {
    const Wave wave = wave_of(stretch(t, lines, line));
    if (!wave.fits) return false;
    if (!wave.flat && wave.k < 2 - kExact) frequencies.insert(std::llround(wave.k * 100));
  }
  return frequencies.size() >= 2;
}

// Sines and cosines side by side in each row: their squares add up to 1.
bool has_unit_pairs(const ConstantData& t, std::int64_t apart) {
  const Shape& shape = t.type.shape;
  const std::int64_t width = shape[shape.rank() - 1], rows = shape.numel() / width;
  if (apart < 1 || width % (2 * apart) != 0) return false;
  std::int64_t seen = 0, varied = 0;
  for (std::int64_t r = 0; r < std::min(rows, kLines); ++r) {
    bool zero = true;
    for (std::int64_t j = 0; j < width; ++j) {
      if (j / apart % 2 != 0) continue;
      const double a = t.real(r * width + j), b = t.real(r * width + j + apart);
      zero = zero && a == 0 && b == 0;
      if (!zero && std::abs(a * a + b * b - 1) > kExact) return false;
      varied += a != 0 && b != 0;
    }
    seen += !zero;  // a row of zeros stands for a class token or for padding
  }
  return seen >= 2 && varied >= kSmall;
}

// Second differences vanish.
bool is_straight(const std::vector<double>& x) {
  const auto [least, most] = std::ranges::minmax(x);
  for (std::size_t p = 1; p + 1 < x.size(); ++p)
    if (std::abs(x[p + 1] - 2 * x[p] + x[p - 1]) > 1e-4 * (most - least)) return false;
  return true;
}

bool has_ramps(const ConstantData& t, int axis) {
  const Lines lines(t.type.shape, axis);
  if (lines.length < kShortestLine) return false;
  bool varied = false;
  for (std::int64_t line : chosen_lines(lines)) {
    const std::vector<double> x = stretch(t, lines, line);
    if (!is_straight(x)) return false;
    varied = varied || x.front() != x.back();
  }
  return varied;
}

}  // namespace

bool holds_mask_values(const ConstantData& tensor) {
  constexpr double kNoWeight = -9999;  // masks use -1e4, -1e9, the least fp16 or fp32
  for (double v : sample(tensor))
    if (!std::isfinite(v) || v <= kNoWeight || v >= 1e30) return true;
  return false;
}

bool is_uniform(const ConstantData& tensor) {
  if (tensor.repeated) return true;
  for (std::int64_t i = 1; i < tensor.count(); ++i)
    if (tensor.real(i) != tensor.real(0)) return false;
  return true;
}

bool is_two_valued_mask(const ConstantData& tensor) {
  if (tensor.count() < 4) return false;
  double other = 0;
  bool zeros = false;
  for (double v : sample(tensor)) {
    zeros = zeros || v == 0;
    if (v == 0 || v == other) continue;
    if (other != 0) return false;
    other = v;
  }
  return zeros && other != 0;
}

bool repeats_few_values(const ConstantData& tensor) {
  constexpr std::size_t kFew = 64;
  if (tensor.count() < kSmall) return false;
  std::set<double> distinct;
  std::size_t counted = 0;
  for (double v : sample(tensor)) {
    if (v == 0) continue;  // pruned weights hold many zeros
    distinct.insert(v), ++counted;
    if (distinct.size() > kFew) return false;
  }
  return distinct.size() > 1 && 4 * distinct.size() <= counted;
}

bool is_whole_numbers(const ConstantData& tensor) {
  return !is_uniform(tensor) &&
         std::ranges::all_of(sample(tensor), [](double v) { return v == std::floor(v); });
}

bool is_wave_table(const ConstantData& tensor) {
  const Shape& shape = tensor.type.shape;
  if (shape.rank() < 2 || tensor.count() < 2 * kSmall || is_uniform(tensor)) return false;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (has_waves(tensor, axis)) return true;
  const std::int64_t width = shape[shape.rank() - 1];
  return width >= 4 && (has_unit_pairs(tensor, 1) || has_unit_pairs(tensor, width / 2) ||
                        (width % 4 == 0 && has_unit_pairs(tensor, width / 4)));
}

bool is_ramp_table(const ConstantData& tensor) {
  const Shape& shape = tensor.type.shape;
  if (shape.rank() == 0 || tensor.count() < kShortestLine || is_uniform(tensor)) return false;
  // One even ramp through the whole memory also fills weights by hand, unless it counts.
  const std::vector<double> all = sample(tensor);
  if (is_straight(all)) return std::ranges::all_of(all, [](double v) { return v == std::floor(v); });
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (has_ramps(tensor, axis)) return true;
  return false;
}

bool is_distance_table(const ConstantData& tensor) {
  const Shape& shape = tensor.type.shape;
  if (shape.rank() < 2 || tensor.count() < kSmall || tensor.repeated) return false;
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1], size = rows * columns;
  for (std::int64_t first = 0; first + size <= std::min(tensor.count(), std::max(size, kSampled));
       first += size) {
    const std::int64_t end = first + std::min(size, kSampled);
    double step = 0, most = 0;
    for (std::int64_t i = first; i < end; ++i)
      if (const double v = std::abs(tensor.real(i)); v > 0 && (step == 0 || v < step)) step = v;
    for (std::int64_t i = first; i < end; ++i) {
      const double steps = step > 0 ? std::abs(tensor.real(i)) / step : 0;
      if (std::abs(steps - std::round(steps)) > 1e-6 * std::max(steps, 1.0)) return false;
      most = std::max(most, steps);
    }
    if (most < 1.5 || most > static_cast<double>(rows + columns)) return false;
  }
  return true;
}

bool is_root_of_integer(double value) {
  const double square = value * value;
  for (double n : {square, square > 0 ? 1 / square : 0})
    if (n >= 1.5 && n < 1e7 && std::abs(n - std::round(n)) <= 1e-6 * n) return true;
  return false;
}

bool is_formula_number(double value) {
  const double size = std::abs(value);
  if (size == 0 || is_root_of_integer(value)) return true;
  const double inverse = 1 / size;
  if (inverse < 1e7 && std::abs(inverse - std::round(inverse)) <= 1e-6 * inverse) return true;
  // At most four digits: 1.702, 1e-5. A learned fp32 number has seven or eight.
  const double digits = size / std::pow(10, std::floor(std::log10(size)) - 3);
  if (std::abs(digits - std::round(digits)) <= 1e-7 * digits) return true;
  // Gelu by tanh: sqrt(2 / pi) and 0.044715. Powers by exp and log: ln 2, ln 10, ln 100.
  for (double known :
       {0.7978845608, 0.044715, 0.6931471806, 2.3025850930, 4.6051701860, 3.1415926536, 2.7182818285})
    if (std::abs(size - known) < 1e-6 * known || std::abs(size - 1 / known) < 1e-6 / known) return true;
  return false;
}

}  // namespace headroom::onnx
