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
const FitOptions kSharedFit = {.starts = 1, .rounds = 4, .evaluations = 1500};

// Every row, the device it is from, and its prediction by the other devices.
struct LeftOutRows : UnseenPredictions {
  std::vector<std::size_t> device;
};

std::vector<TimingRow> some_rows(const DeviceRows& device) {
  const std::vector<std::size_t> order = shuffled(device.rows.size(), kDeviceRowsSeed);
  std::vector<TimingRow> chosen;
  for (std::size_t i = 0; i < std::min(order.size(), kMaxDeviceRows); ++i)
    chosen.push_back(device.rows[order[i]]);
  return chosen;
}

// What is known of each device, and the rows that fits see.
struct FittedDevices {
  std::vector<FormCalibration::Member> members;
  std::vector<PreparedRows> rows;
};

// Whether devices differ in constants of their hosts alone: one fit to all of them finds the others.
bool shares_constants(const std::vector<Constant>& constants) {
  return std::ranges::any_of(constants, &Constant::of_host);
}

void set_constants(FormCalibration::Member& member, std::vector<double> constants) {
  for (double& value : constants) value = rounded(value);
  member.constants = std::move(constants);
}

FittedDevices prepare_devices(const KernelForm& form, const std::vector<Constant>& constants,
                              const std::vector<DeviceRows>& devices) {
  FittedDevices fitted;
  fitted.members.resize(devices.size()), fitted.rows.resize(devices.size());
  parallel_for(static_cast<std::int64_t>(devices.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto d = static_cast<std::size_t>(begin); d < static_cast<std::size_t>(end); ++d) {
      const Machine& machine = devices[d].machine;
      FormCalibration::Member& member = fitted.members[d];
      member = {machine.name, machine.compute_capability, {}, form.learn_traits(devices[d].rows, machine)};
      fitted.rows[d] = prepare_rows(form, some_rows(devices[d]), machine, member.traits);
      if (!shares_constants(constants)) set_constants(member, fit_constants(constants, fitted.rows[d]));
    }
  });
  return fitted;
}

// The devices that speak for one that is left out. Those of its generation do not: they are too much alike to
// tell how far a new one may be off.
std::vector<std::size_t> others_than(std::size_t left_out, const FittedDevices& devices) {
  std::vector<std::size_t> others, all_others;
  for (std::size_t d = 0; d < devices.members.size(); ++d) {
    if (d != left_out) all_others.push_back(d);
    if (devices.members[d].compute_capability != devices.members[left_out].compute_capability)
      others.push_back(d);
  }
  return others.empty() ? all_others : others;
}

// Of constants that devices share; those of their hosts become those of a typical host.
std::vector<double> geometric_mean(const std::vector<std::vector<double>>& constants) {
  std::vector<double> mean(constants.front().size());
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double sum = 0;
    for (const std::vector<double>& own : constants) sum += std::log(own[i]);
    mean[i] = std::exp(sum / static_cast<double>(constants.size()));
  }
  return mean;
}

FormCalibration fit_devices(const std::vector<Constant>& constants, const FittedDevices& devices,
                            const std::vector<std::size_t>& chosen) {
  FormCalibration c;
  std::vector<PreparedRows> rows;
  for (const std::size_t d : chosen) c.members.push_back(devices.members[d]), rows.push_back(devices.rows[d]);
  if (!shares_constants(constants)) return c;
  const std::vector<double> typical = geometric_mean(fit_shared_constants(constants, rows, kSharedFit));
  for (FormCalibration::Member& member : c.members) set_constants(member, typical);
  return c;
}

void add_left_out(LeftOutRows& out, const KernelForm& form, const FormCalibration& others,
                  const DeviceRows& device, std::size_t left_out) {
  const Traits traits = others.traits_for(device.machine);
  for (const TimingRow& row : some_rows(device)) {
    const auto prepared = form.prepare(row, device.machine, traits);
    out.device.push_back(left_out);
    out.add(others.seconds(*prepared, device.machine), row.us * 1e-6, prepared->floor());
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
struct DeviceSpread {
  double below_s = 0;
  double bias = 0;
  double low = 0, high = 0;  // of a row, beside the bias

  Intervals::Bucket bucket(double least_bias) const {
    const double shared = std::max(bias, least_bias);
    return {below_s, rounded(std::exp(-std::hypot(shared, low))),
            rounded(std::exp(std::hypot(shared, high)))};
  }
};

DeviceSpread spread_of(const std::vector<std::vector<double>>& residuals, double below_s) {
  double squares = 0, devices = 0;
  std::vector<double> within;
  for (const std::vector<double>& part : residuals) {
    if (part.empty()) continue;
    const double bias = quantile_of(part, 0.5);
    squares += bias * bias, devices += 1;
    for (const double r : part) within.push_back(r - bias);
  }
  return {below_s, student(static_cast<std::size_t>(devices)) * std::sqrt(squares / devices),
          quantile_of(within, 0.05), quantile_of(within, 0.95)};
}

Intervals device_intervals(const LeftOutRows& rows, std::size_t devices) {
  const std::size_t n = rows.device.size(), count = n >= 150 ? 3 : 1;
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t r) { return rows.predicted_s[r]; });
  std::vector<DeviceSpread> spreads;
  double squares = 0;
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t begin = n * b / count, end = n * (b + 1) / count;
    std::vector<std::vector<double>> residuals(devices);
    for (std::size_t i = begin; i < end; ++i)
      residuals[rows.device[order[i]]].push_back(rows.residuals[order[i]]);
    spreads.push_back(spread_of(residuals, b + 1 == count ? 0 : rows.predicted_s[order[end]]));
    squares += spreads.back().bias * spreads.back().bias;
  }
  // A few devices that agree in one bucket do so by chance.
  const double usual_bias = std::sqrt(squares / static_cast<double>(count));
  std::vector<Intervals::Bucket> buckets;
  for (const DeviceSpread& spread : spreads) buckets.push_back(spread.bucket(usual_bias));
  return Intervals::from_buckets(std::move(buckets));
}

}  // namespace

FormCalibration calibrate_shared(const KernelForm& form, const std::vector<DeviceRows>& devices) {
  if (devices.size() < 2)
    reject(Hint{"give a table with rows of several devices, or name the `machine` of this one"},
           "constants that devices share need at least 2 devices with {} rows each; the table has {}",
           kMinCalibrationRows, devices.size());
  const std::string group = devices.front().rows.front().group;
  const std::vector<Constant>& constants = form.constants(group);
  const FittedDevices fitted = prepare_devices(form, constants, devices);
  // One without each device, and one of all.
  std::vector<FormCalibration> fits(devices.size() + 1);
  parallel_for(static_cast<std::int64_t>(fits.size()), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      std::vector<std::size_t> chosen(devices.size());
      std::iota(chosen.begin(), chosen.end(), std::size_t{0});
      if (i < devices.size()) chosen = others_than(i, fitted);
      fits[i] = fit_devices(constants, fitted, chosen);
    }
  });
  LeftOutRows left_out;
  for (std::size_t d = 0; d < devices.size(); ++d) add_left_out(left_out, form, fits[d], devices[d], d);
  FormCalibration c = std::move(fits.back());
  c.form = form.name(), c.group = group;
  c.rows = left_out.device.size();
  c.intervals = device_intervals(left_out, devices.size());
  c.errors = left_out.judge_with(c.intervals);
  return c;
}

}  // namespace headroom
