// What no fit may break: more of a resource is never slower, nothing is faster than its floor, and a machine
// that is twice as fast in everything takes half the time.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"
#include "timing/predictor.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

std::vector<TimingRow> random_rows(const KernelForm& form, const std::string& group, std::size_t count) {
  std::vector<TimingRow> rows;
  const Philox random(7);
  for (std::size_t i = 0; i < count; ++i) {
    TimingRow row{.group = group};
    for (std::size_t s = 0; s < form.sizes().size(); ++s)
      row.sizes.push_back(std::floor(std::exp2(13 * random.uniform(8 * i + s))));
    rows.push_back(row);
  }
  return rows;
}

// A calibration whose residual correction does something: times of the formula with a wave on top.
FormCalibration wavy(const KernelForm& form, const std::string& group, const Machine& machine) {
  std::vector<TimingRow> rows = random_rows(form, group, 150);
  const std::vector<double> constants = starting_values(form.constants(group));
  for (TimingRow& row : rows)
    row.us = 1e6 * fastest(*form.prepare(row, machine, {}), constants).seconds *
             std::exp(0.3 * std::sin(std::log2(row.sizes[0])));
  return calibrate_device(form, rows, machine).calibration;
}

void scale_rates(Machine& m, double factor) {
  for (auto& [name, rate] : m.peak_flops) rate *= factor;
  for (Machine::Level& level : m.levels) level.bytes_per_s *= factor;
  m.peer_bytes_per_s *= factor, m.power_w *= factor;
}

struct Improvement {
  const char* name;
  std::function<void(Machine&)> apply;
};
const std::vector<Improvement>& improvements() {
  static const std::vector<Improvement> list = {
      {"peaks",
       [](Machine& m) {
         for (auto& [name, rate] : m.peak_flops) rate *= 1.3;
       }},
      {"one peak", [](Machine& m) { m.peak_flops["bf16"] *= 1.7; }},
      {"fp32 peak", [](Machine& m) { m.peak_flops["fp32"] *= 1.1; }},
      {"memory rate", [](Machine& m) { m.levels.back().bytes_per_s *= 1.2; }},
      {"L2", [](Machine& m) { m.levels.front().bytes *= 2; }},
      {"launches", [](Machine& m) { m.launch.host_s /= 1.5; }},
      {"power", [](Machine& m) { m.power_w *= 1.5; }},
      {"multiprocessors of the same rate", [](Machine& m) {
         for (auto& [name, rate] : m.peak_flops) rate *= double(m.cores + 11) / m.cores;
         m.cores += 11;
       }}};
  return list;
}

class Physics : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  const KernelForm& form = find_form(GetParam().first);
  const std::string group = GetParam().second;
  const Machine base = find_machine("h200");
  const FormCalibration calibration = wavy(form, group, base);
  const std::vector<TimingRow> rows = random_rows(form, group, 400);
};

TEST_P(Physics, ResidualCorrectionIsAtWork) {
  EXPECT_GT(calibration.residual.mix.trees + calibration.residual.mix.ridge, 0);
}

TEST_P(Physics, MoreOfAResourceIsNeverSlower) {
  const Predictor before(form, calibration, base, &base);
  for (const Improvement& improvement : improvements()) {
    Machine better = base;
    improvement.apply(better);
    const Predictor after(form, calibration, better, &base);
    for (const TimingRow& row : rows)
      ASSERT_LE(after.predict(row).us, before.predict(row).us * (1 + 1e-9))
          << improvement.name << " " << row.sizes[0] << " " << row.sizes[1] << " " << row.sizes[2];
  }
}

TEST_P(Physics, TwiceAsFastInEverythingTakesHalfTheTime) {
  Machine twice = base;
  scale_rates(twice, 2);
  twice.launch.host_s /= 2;
  const Predictor before(form, calibration, base, &base), after(form, calibration, twice, &base);
  for (const TimingRow& row : rows) {
    const double us = before.predict(row).us;
    ASSERT_NEAR(after.predict(row).us, us / 2, 1e-9 * us);
  }
}

TEST_P(Physics, NothingIsBelowItsFloor) {
  const Predictor predictor(form, calibration, base, &base);
  for (const TimingRow& row : rows) {
    const PredictedTime t = predictor.predict(row);
    const double floor_us = form.prepare(row, base, {})->floor() * 1e6;
    ASSERT_GE(t.us, floor_us);
    ASSERT_GE(t.low_us, floor_us);
    ASSERT_LE(t.low_us, t.us);
    ASSERT_GE(t.high_us, t.us);
  }
}

TEST_P(Physics, SharedConstantsKeepTheSameRules) {
  const FormCalibration* shared = shared_calibration().find(form.name(), group);
  ASSERT_NE(shared, nullptr);
  Machine twice = base;
  scale_rates(twice, 2);
  twice.launch.host_s /= 2;
  const Predictor before(form, *shared, base, nullptr), after(form, *shared, twice, nullptr);
  for (const TimingRow& row : rows) {
    const double us = before.predict(row).us;
    ASSERT_NEAR(after.predict(row).us, us / 2, 1e-9 * us);
  }
  for (const Improvement& improvement : improvements()) {
    Machine better = base;
    improvement.apply(better);
    const Predictor faster(form, *shared, better, nullptr);
    for (const TimingRow& row : rows)
      ASSERT_LE(faster.predict(row).us, before.predict(row).us * (1 + 1e-9)) << improvement.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Physics,
                         ::testing::Values(std::pair{"gemm", "bf16"}, std::pair{"gemm", "fp8"},
                                           std::pair{"linear", "fp32"}));

}  // namespace
}  // namespace headroom
