#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/probes.h"

namespace headroom {

// The random numbers of a probe: the same number draws the same network.
class Draw {
 public:
  explicit Draw(std::uint64_t number, std::uint64_t stream = 71) : random_(number, stream) {}
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_.below(next_++, std::uint64_t(n)));
  }
  double uniform() { return random_.uniform(next_++); }
  bool often() { return below(3) > 0; }
  // Whole numbers as likely to be in [low, 2 low] as in any other octave; multiples of `unit` most of the
  // time.
  std::int64_t size(std::int64_t low, std::int64_t high, std::int64_t unit = 1) {
    const double x =
        std::exp(std::log(double(low)) + random_.uniform(next_++) * std::log(double(high) / double(low)));
    const auto n = static_cast<std::int64_t>(std::lround(x));
    return unit == 1 || below(5) == 0 ? std::clamp(n, low, high) : std::max(unit, n / unit * unit);
  }
  template <class T>
  T one_of(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(std::int64_t(list.size())))];
  }
  std::string activation() {
    return one_of<std::string>({"relu", "relu", "relu", "tanh", "sigmoid", "gelu"});
  }

 private:
  Philox random_;
  std::uint64_t next_ = 0;
};

inline Probe numbered(Net net, std::uint64_t number, double size, bool round_batch, std::int64_t batch) {
  net.name = fmt::format("probe {}: {}", number, net.name);
  return {std::move(net), size, round_batch, batch};
}

}  // namespace headroom
