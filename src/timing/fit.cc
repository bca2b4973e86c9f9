#include "timing/fit.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "timing/minimize.h"

namespace headroom {
namespace {

constexpr double kPull = 2e-4;         // per constant and squared logarithm
constexpr std::size_t kShortlist = 8;  // candidates of a row that stay in a round
constexpr double kStartSpread = 0.5;   // of further starts, in logarithms

// The variables of the search: logarithms of the constants that are not fixed. Constants of the host have a
// variable for each device.
class Variables {
 public:
  Variables(const std::vector<Constant>& constants, const std::vector<double>& start, std::size_t devices)
      : values_(start) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (!(constants[i].low < constants[i].high)) continue;
      for (std::size_t d = 0; d < (constants[i].of_host ? devices : 1); ++d) {
        owners_.push_back({i, constants[i].of_host ? d : kAllDevices});
        low_.push_back(std::log(constants[i].low));
        high_.push_back(std::log(constants[i].high));
        start_.push_back(std::clamp(std::log(start[i]), low_.back(), high_.back()));
      }
    }
  }
  std::vector<double> constants(std::span<const double> x, std::size_t device) const {
    std::vector<double> values = values_;
    for (std::size_t i = 0; i < owners_.size(); ++i)
      if (owners_[i].device == kAllDevices || owners_[i].device == device)
        values[owners_[i].constant] = std::exp(x[i]);
    return values;
  }
  double pull(std::span<const double> x) const {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - start_[i]) * (x[i] - start_[i]);
    return kPull * sum;
  }
  std::vector<double> beside_start(const Philox& random) const {
    std::vector<double> x = start_;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = std::clamp(x[i] + kStartSpread * random.normal(i), low_[i], high_[i]);
    return x;
  }
  const std::vector<double>& start() const { return start_; }
  const std::vector<double>& low() const { return low_; }
  const std::vector<double>& high() const { return high_; }

 private:
  static constexpr std::size_t kAllDevices = SIZE_MAX;
  struct Owner {
    std::size_t constant, device;
  };

  std::vector<double> values_, start_, low_, high_;
  std::vector<Owner> owners_;
};

// Few candidates of a row are ever near its fastest: a round of the search looks only at those.
class Shortlists {
 public:
  Shortlists(const PreparedRows& rows, std::span<const double> constants) : rows_(rows) {
    std::vector<std::pair<double, std::size_t>> times;
    for (const auto& row : rows.rows) {
      times.clear();
      for (std::size_t c = 0; c < row->candidates(); ++c) times.emplace_back(row->seconds(c, constants), c);
      const auto kept = static_cast<std::ptrdiff_t>(std::min(kShortlist, times.size()));
      std::partial_sort(times.begin(), times.begin() + kept, times.end());
      for (std::ptrdiff_t i = 0; i < kept; ++i)
        candidates_.push_back(times[static_cast<std::size_t>(i)].second);
      ends_.push_back(candidates_.size());
    }
  }
  double mean_error(std::span<const double> constants) const {
    double sum = 0;
    std::size_t at = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      const PreparedRow& row = *rows_.rows[r];
      double best = row.seconds(candidates_[at], constants);
      for (++at; at < ends_[r]; ++at) best = std::min(best, row.seconds(candidates_[at], constants));
      sum += std::abs(best / rows_.measured_s[r] - 1);
    }
    return sum / static_cast<double>(rows_.size());
  }

 private:
  const PreparedRows& rows_;
  std::vector<std::size_t> candidates_, ends_;
};

}  // namespace

PreparedRows PreparedRows::at(std::span<const std::size_t> indices) const {
  PreparedRows part;
  for (const std::size_t i : indices) {
    part.rows.push_back(rows[i]);
    part.measured_s.push_back(measured_s[i]);
  }
  return part;
}

double mean_error(const PreparedRows& rows, std::span<const double> constants) {
  double sum = 0;
  for (std::size_t r = 0; r < rows.size(); ++r)
    sum += std::abs(fastest(*rows.rows[r], constants).seconds / rows.measured_s[r] - 1);
  return sum / static_cast<double>(rows.size());
}

std::vector<double> fit_constants(const std::vector<Constant>& constants, const PreparedRows& rows,
                                  const FitOptions& options) {
  return fit_shared_constants(constants, std::span(&rows, 1), options).front();
}

std::vector<std::vector<double>> fit_shared_constants(const std::vector<Constant>& constants,
                                                      std::span<const PreparedRows> devices,
                                                      const FitOptions& options) {
  const std::vector<double> start = options.start.empty() ? starting_values(constants) : options.start;
  const Variables variables(constants, start, devices.size());
  const auto mean_of = [&](std::span<const double> x, const auto& error_of) {
    double sum = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) sum += error_of(d, variables.constants(x, d));
    return sum / static_cast<double>(devices.size()) + variables.pull(x);
  };
  std::vector<double> best = variables.start();
  double least = INFINITY;
  for (int s = 0; s < options.starts; ++s) {
    std::vector<double> x =
        s == 0 ? variables.start() : variables.beside_start(Philox(options.seed, static_cast<unsigned>(s)));
    for (int round = 0; round < options.rounds; ++round) {
      std::vector<Shortlists> lists;
      for (std::size_t d = 0; d < devices.size(); ++d)
        lists.emplace_back(devices[d], variables.constants(x, d));
      const auto objective = [&](std::span<const double> y) {
        return mean_of(y, [&](std::size_t d, const auto& c) { return lists[d].mean_error(c); });
      };
      x = minimize(objective, x, variables.low(), variables.high(),
                   {.step = 0.4 / (1 + round), .evaluations = options.evaluations});
    }
    const double value = mean_of(x, [&](std::size_t d, const auto& c) { return mean_error(devices[d], c); });
    if (value < least) least = value, best = x;
  }
  std::vector<std::vector<double>> found;
  for (std::size_t d = 0; d < devices.size(); ++d) found.push_back(variables.constants(best, d));
  return found;
}

}  // namespace headroom
