#include "profile/energy_meter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "base/spans.h"

namespace headroom {
namespace {

double seconds_now() { return 1e-9 * double(spans::now_ns()); }

// 100 W, counted every 50 ms.
class SteadyMeter final : public EnergyMeter {
 public:
  double joules() override { return 100 * 0.05 * std::floor(seconds_now() / 0.05); }
  std::string source() const override { return "test"; }
};

TEST(EnergyMeter, MeasuresBetweenTwoChangesOfTheCounter) {
  SteadyMeter meter;
  double worked = 0;
  std::int64_t times = 0;
  const auto measured = measure_energy(meter, 0.3, [&] {
    const double begin = seconds_now();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    worked += seconds_now() - begin, ++times;
  });
  // A busy machine may sleep longer than asked for: compare with the time that passed.
  EXPECT_NEAR(double(measured.repeats), measured.seconds / (worked / double(times)), 0.3 * double(times));
  EXPECT_LT(measured.repeats, times) << "those before the first change do not count";
  EXPECT_NEAR(measured.joules / measured.seconds, 100, 10);
}

class DeadMeter final : public EnergyMeter {
 public:
  double joules() override { return 7; }
  std::string source() const override { return "test"; }
};

TEST(EnergyMeter, ACounterThatStandsStillGivesNothing) {
  DeadMeter meter;
  const auto measured =
      measure_energy(meter, 0.01, [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); });
  EXPECT_EQ(measured.repeats, 0);
  EXPECT_EQ(measured.joules_each(), 0);
}

TEST(EnergyMeter, ACpuHasOneOrSaysWhyNot) {
  std::string why_not;
  const auto meter = make_energy_meter(*open_device("cpu", 1), "cpu", why_not);
  EXPECT_EQ(meter == nullptr, !why_not.empty());
}

}  // namespace
}  // namespace headroom
