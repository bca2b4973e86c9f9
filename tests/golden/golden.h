#pragma once

// The C++ side of tests/golden/formula.py: the same inputs, labels and initial parameters by the same
// integer arithmetic, the numbers PyTorch found for them, and the comparison of a tensor with its digest.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/shape.h"

namespace headroom::testing {

constexpr std::uint32_t golden_mix(std::uint32_t h) {
  h ^= h >> 15;
  h *= 2246822519u;
  return h ^ (h >> 13);
}

// In [-1, 1) and exact: 32 bits of hash fit the 53 of a double.
constexpr double golden_value(std::uint64_t tensor, std::uint64_t element) {
  const auto h = static_cast<std::uint32_t>(element * 2654435761u + tensor * 40503u + 12345u);
  return (golden_mix(h) / 4294967296.0 - 0.5) * 2.0;
}

constexpr int golden_label(std::uint64_t i, int classes) {
  return static_cast<int>(golden_mix(static_cast<std::uint32_t>(i * 7 + 3)) %
                          static_cast<std::uint32_t>(classes));
}

// Tensor 0 is the input; parameters with one axis are biases, all others weights.
inline double golden_scale(std::uint64_t tensor, const Shape& shape) {
  if (tensor == 0) return 1.0;
  if (shape.rank() == 1) return 0.1;
  return 1.0 / std::sqrt(static_cast<double>(shape.without_first().numel()));
}

inline std::vector<double> golden_fill(std::uint64_t tensor, const Shape& shape) {
  const double scale = golden_scale(tensor, shape);
  std::vector<double> values(static_cast<std::size_t>(shape.numel()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = golden_value(tensor, i) * scale;
  return values;
}

// The batch of a network's file: values in [-1, 1), or pixels of 0 ... 255.
inline std::vector<double> golden_batch(const Json& golden) {
  const Shape shape(golden.at("input").get<std::vector<std::int64_t>>());
  std::vector<double> values = golden_fill(0, shape);
  if (golden.contains("pixels"))
    for (double& v : values) v = std::floor((v + 1) * 128);
  return values;
}

// A parameter of a network's file. Pixels would saturate every tanh, so the first weight is scaled down.
inline std::vector<double> golden_parameter(const Json& golden, std::uint64_t tensor, const Shape& shape) {
  std::vector<double> values = golden_fill(tensor, shape);
  if (tensor == 1 && golden.contains("pixels"))
    for (double& v : values) v /= 128;
  return values;
}

inline Json golden_json(std::string_view network) {
  const auto folder = std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests" / "golden";
  return Json::parse(read_file(folder / fmt::format("{}.json", network)));
}

// Compensated, so that the order of summation does not affect the comparison.
class GoldenSum {
 public:
  void add(double x) {
    const double y = x - lost_;
    const double next = sum_ + y;
    lost_ = (next - sum_) - y;
    sum_ = next;
  }
  double value() const { return sum_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

// Keeps the comparison that used most of its tolerance; above 1 it failed.
class GoldenWorst {
 public:
  void compare(std::string_view what, double got, double want, double allowed) {
    const double error = std::abs(got - want);
    double ratio = error == 0 ? 0 : error / allowed;
    if (std::isnan(ratio)) ratio = std::numeric_limits<double>::infinity();
    if (ratio <= ratio_) return;
    ratio_ = ratio;
    where_ = fmt::format("{} is {:.17g}, expected {:.17g}: off by {:.2g}, {:.3g} times the allowed {:.2g}",
                         what, got, want, error, ratio, allowed);
  }
  std::string failure() const { return ratio_ > 1 ? where_ : std::string(); }

 private:
  double ratio_ = 0;
  std::string where_;
};

// Empty if `got` agrees with the digest, else the worst difference. An element may be off by rtol times the
// tensor's rms; a sum by sqrt(n) times that, as n independent errors add up; the sum of squares by the change
// from scaling every element by 1 + rtol. Below 1e-10, rtol would measure the cosines instead: the compiler
// may fuse 0.37 * i + 0.1, which moves the angle by up to 1.5e-11 in the longest tensor here. A tensor of
// zeros must match exactly.
inline std::string compare_digest(const Json& want, std::span<const double> got, double rtol) {
  const std::size_t n = want.at("n");
  if (got.size() != n) return fmt::format("{} elements, expected {}", got.size(), n);
  const double squares = want.at("sum_of_squares");
  const double allowed = rtol * std::sqrt(squares / static_cast<double>(n));
  const double allowed_sum = allowed * std::sqrt(static_cast<double>(n));

  GoldenWorst worst;
  const auto element = [&](std::size_t i, double expected) {
    worst.compare(fmt::format("element {}", i), got[i], expected, allowed);
  };
  const Json& first = want.at("first");
  for (std::size_t i = 0; i < first.size(); ++i) element(i, first[i]);
  const Json& samples = want.at("samples");
  for (std::size_t k = 0; k < samples.size(); ++k) element(k * (n - 1) / (samples.size() - 1), samples[k]);

  std::array<GoldenSum, 3> sums;
  for (std::size_t i = 0; i < n; ++i) {
    sums[0].add(got[i]);
    sums[1].add(got[i] * got[i]);
    sums[2].add(got[i] * std::cos(0.37 * static_cast<double>(i) + 0.1));
  }
  worst.compare("sum", sums[0].value(), want.at("sum"), allowed_sum);
  worst.compare("sum of squares", sums[1].value(), squares, 2 * rtol * squares);
  worst.compare("weighted sum", sums[2].value(), want.at("weighted"), allowed_sum);
  return worst.failure();
}

}  // namespace headroom::testing
