// The constants that several devices share, for devices that were never measured.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "ops/cpu/parallel.h"
#include "timing/trees.h"
#include "timing/unseen.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxDeviceRows = 300;  // more of one device add nothing to what all share
constexpr std::uint64_t kDeviceRowsSeed = 21;

// Every row, the device it is from, and its prediction by the other devices.
struct LeftOutRows {
  std::vector<std::size_t> device;
  std::vector<double> predicted_s, residuals;
};

std::vector<TimingRow> some_rows(const DeviceRows& device) {
  const std::vector<std::size_t> order = shuffled(device.rows.size(), kDeviceRowsSeed);
  std::vector<TimingRow> chosen;
  for (std::size_t i = 0; i < std::min(order.size(), kMaxDeviceRows); ++i)
    chosen.push_back(device.rows[order[i]]);
  return chosen;
}

FormCalibration::Member member_of(const KernelForm& form, const DeviceRows& device) {
  const Machine& machine = device.machine;
  const std::vector<TimingRow> rows = some_rows(device);
  FormCalibration::Member member{
      machine.name, machine.compute_capability, {}, form.learn_traits(device.rows, machine)};
  member.constants =
      fit_constants(form.constants(rows.front().group), prepare_rows(form, rows, machine, member.traits));
  for (double& value : member.constants) value = rounded(value);
  return member;
}

void add_left_out(LeftOutRows& out, const KernelForm& form, const FormCalibration& all,
                  const DeviceRows& device, std::size_t left_out) {
  // Devices of one generation are too much alike to tell how far a new one may be off.
  const auto others_than = [&](auto&& same) {
    FormCalibration others;
    for (std::size_t d = 0; d < all.members.size(); ++d)
      if (!same(d)) others.members.push_back(all.members[d]);
    return others;
  };
  const int capability = all.members[left_out].compute_capability;
  FormCalibration others =
      others_than([&](std::size_t d) { return all.members[d].compute_capability == capability; });
  if (others.members.empty()) others = others_than([&](std::size_t d) { return d == left_out; });
  const Traits& traits = others.traits_for(device.machine);
  for (const TimingRow& row : some_rows(device)) {
    const auto prepared = form.prepare(row, device.machine, traits);
    const double seconds = std::max(others.seconds(*prepared, device.machine), prepared->floor());
    out.device.push_back(left_out);
    out.predicted_s.push_back(seconds);
    out.residuals.push_back(std::log(row.us * 1e-6 / seconds));
  }
}

double quantile_of(std::vector<double> values, double share) {
  std::ranges::sort(values);
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// How far beyond the spread of a few devices the next one may lie, in 90 % of cases: Student's t.
double student(std::size_t devices) {
  constexpr double kT[] = {6.31, 6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83};
  const double t = kT[std::min<std::size_t>(devices, std::size(kT) - 1)];
  return t * std::sqrt(1 + 1 / static_cast<double>(devices));
}

// An error on a device never measured has two parts: one that all its rows share, and one of each row.
Intervals::Bucket device_bucket(const std::vector<std::vector<double>>& residuals, double below_s) {
  double squares = 0, devices = 0;
  std::vector<double> within;
  for (const std::vector<double>& part : residuals) {
    if (part.empty()) continue;
    const double bias = quantile_of(part, 0.5);
    squares += bias * bias, devices += 1;
    for (const double r : part) within.push_back(r - bias);
  }
  const double bias = student(static_cast<std::size_t>(devices)) * std::sqrt(squares / devices);
  const double low = std::hypot(bias, quantile_of(within, 0.05));
  const double high = std::hypot(bias, quantile_of(within, 0.95));
  return {below_s, rounded(std::exp(-low)), rounded(std::exp(high))};
}

Intervals device_intervals(const LeftOutRows& rows, std::size_t devices) {
  const std::size_t n = rows.device.size(), count = n >= 150 ? 3 : 1;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t r) { return rows.predicted_s[r]; });
  std::vector<Intervals::Bucket> buckets;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t begin = n * b / count, end = n * (b + 1) / count;
    std::vector<std::vector<double>> residuals(devices);
    for (std::size_t i = begin; i < end; ++i)
      residuals[rows.device[order[i]]].push_back(rows.residuals[order[i]]);
    buckets.push_back(device_bucket(residuals, b + 1 == count ? 0 : rows.predicted_s[order[end]]));
  }
  return Intervals::from_buckets(std::move(buckets));
}

}  // namespace

FormCalibration calibrate_shared(const KernelForm& form, const std::vector<DeviceRows>& devices) {
  if (devices.size() < 2)
    reject(Hint{"give a table with rows of several devices, or name the `machine` of this one"},
           "constants that devices share need at least 2 devices with {} rows each; the table has {}",
           kMinCalibrationRows, devices.size());
  FormCalibration c;
  c.form = form.name(), c.group = devices.front().rows.front().group;
  c.members.resize(devices.size());
  parallel_for(static_cast<std::int64_t>(devices.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto d = static_cast<std::size_t>(begin); d < static_cast<std::size_t>(end); ++d)
      c.members[d] = member_of(form, devices[d]);
  });
  LeftOutRows left_out;
  for (std::size_t d = 0; d < devices.size(); ++d) add_left_out(left_out, form, c, devices[d], d);
  c.rows = left_out.device.size();
  c.intervals = device_intervals(left_out, devices.size());
  c.errors = judge_residuals(left_out.predicted_s, left_out.residuals, c.intervals);
  return c;
}

}  // namespace headroom
