#include "timing/table_prediction.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "ops/cpu/parallel.h"
#include "timing/timing_rows.h"
#include "timing/unseen.h"

namespace headroom {
namespace {

const Hint kCalibrationHint{"`headroom calibrate` writes such a file"};

// Fewer named kernels do not show which tiles a library uses.
constexpr std::size_t kMinNamedRows = 20;
constexpr std::size_t kMaxNamedDevices = 5;  // in a note

bool same_device(const Machine& a, const Machine& b) {
  const auto level = [](const Machine::Level& x, const Machine::Level& y) {
    return x.bytes == y.bytes && x.bytes_per_s == y.bytes_per_s;
  };
  return a.compute_capability == b.compute_capability && a.cores == b.cores && a.peak_flops == b.peak_flops &&
         std::ranges::equal(a.levels, b.levels, level) && a.launch == b.launch;
}

bool is_calibration_file(const std::string& name) {
  return name.ends_with(".json") && holds_calibration(parse_object(read_file(name), name));
}

// Everything that turns rows into times for one request.
class TablePredictor {
 public:
  TablePredictor(const TimingTable& table, const KernelForm& form, const TableSource& source)
      : table_(table), form_(form) {
    if (!source.constants.empty()) given_ = read_calibration(source.constants);
    if (source.machine.empty()) return;
    if (!is_calibration_file(source.machine)) {
      machine_ = std::make_unique<Machine>(find_machine(source.machine));
      return;
    }
    const NamedCalibration file = read_calibration(source.machine);
    if (!file.calibration->machine)
      reject(Hint{"give it as `constants`, and name a `machine`"},
             "{} holds constants that several devices share, not one machine", source.machine);
    machine_ = std::make_unique<Machine>(*file.calibration->machine);
    if (!given_.calibration) given_ = file;
  }

  TablePrediction predict(const std::vector<TimingRow>& rows) {
    TablePrediction result;
    result.times.resize(rows.size());
    note_other_devices(result, rows);
    for (const auto& [key, indices] : parts_of(rows)) predict_part(result, rows, key.second, indices);
    return result;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // device, group

  std::map<Key, std::vector<std::size_t>> parts_of(const std::vector<TimingRow>& rows) const {
    if (!machine_ && !table_.find("device"))
      reject(Hint{"name the `machine`"}, "{} has no column 'device'", table_.origin);
    std::map<Key, std::vector<std::size_t>> parts;
    for (std::size_t r = 0; r < rows.size(); ++r)
      parts[{machine_ ? machine_->name : rows[r].device, rows[r].group}].push_back(r);
    return parts;
  }

  void note_other_devices(TablePrediction& result, const std::vector<TimingRow>& rows) const {
    if (!machine_) return;
    std::map<std::string, bool> is_other;
    std::vector<std::string> others;
    bool measured = false;
    for (const TimingRow& row : rows) {
      const auto [known, is_new] = is_other.try_emplace(row.device);
      if (is_new) known->second = !row.device.empty() && !names_machine(row.device, *machine_);
      if (is_new && known->second) others.push_back("'" + printable(row.device) + "'");
      measured |= known->second && row.us > 0;
    }
    if (others.empty()) return;
    const std::size_t more = others.size() - std::min(others.size(), kMaxNamedDevices);
    others.resize(others.size() - more);
    result.notes.push_back(fmt::format(
        "rows of {}{} are predicted for '{}'{}", fmt::join(others, ", "),
        more > 0 ? fmt::format(" and {} more", counted(static_cast<std::int64_t>(more), "device")) : "",
        machine_->name, measured ? ", but their times were measured on the devices that the rows name" : ""));
  }

  // The constants for a group: those given, else the built-in ones. fp16 runs on the same units as bf16.
  std::pair<const FormCalibration*, const NamedCalibration*> constants_for(const std::string& group) {
    static const NamedCalibration built_in{
        std::shared_ptr<const Calibration>(&shared_calibration(), [](const Calibration*) {}), "built-in"};
    for (const NamedCalibration* from : {const_cast<const NamedCalibration*>(&given_), &built_in}) {
      if (!from->calibration) continue;
      if (const auto* found = from->calibration->find(form_.name(), group)) return {found, from};
      if (group != "fp16") continue;
      if (const auto* found = from->calibration->find(form_.name(), "bf16")) return {found, from};
    }
    reject(Hint{"run `headroom calibrate` on a table with such rows"}, "there are no constants for {} in {}",
           form_.name(), group);
  }

  void predict_part(TablePrediction& result, const std::vector<TimingRow>& rows, const std::string& group,
                    const std::vector<std::size_t>& indices) {
    const Machine machine = machine_ ? *machine_ : machine_of_device(table_, rows[indices.front()]);
    const auto [constants, from] = constants_for(group);
    const Calibration& calibration = *from->calibration;
    const bool calibrated = calibration.machine.has_value();
    const bool own = calibrated && same_device(*calibration.machine, machine);
    const FormCalibration* shared = shared_calibration().find(form_.name(), constants->group);
    if (given_.calibration && from->name != given_.name)
      result.notes.push_back(fmt::format("{} has no constants for {} in {}: the built-in ones are used",
                                         given_.name, form_.name(), group));
    if (calibrated && !own)
      result.notes.push_back(fmt::format("{} is a calibration of '{}', not of '{}': intervals are widened",
                                         from->name, calibration.machine->name, machine.name));
    if (own && constants->group == group) note_fitted_rows(result, *constants, from->name, rows, indices);
    require_predictable(rows[indices.front()], machine);
    Predictor predictor(form_, *constants, machine,
                        own          ? &machine
                        : calibrated ? &*calibration.machine
                                     : nullptr,
                        calibrated && !own && shared != nullptr ? &shared->intervals : nullptr);
    if (!own) use_kernel_names(predictor, machine, rows, indices);
    predictor.predict(rows[indices.front()]);  // so that an Error is thrown here, not in a thread
    parallel_for(static_cast<std::int64_t>(indices.size()), 256,
                 [&](std::int64_t begin, std::int64_t end, int) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::size_t r = indices[static_cast<std::size_t>(i)];
                     result.times[r] = predictor.predict(rows[r]);
                   }
                 });
    result.parts.push_back(
        part_of(result, rows, indices, machine.name, group, own ? "calibrated" : "shared"));
  }

  // Errors of rows that were fitted are smaller than those of new shapes.
  static void note_fitted_rows(TablePrediction& result, const FormCalibration& constants,
                               const std::string& file, const std::vector<TimingRow>& rows,
                               const std::vector<std::size_t>& indices) {
    const std::vector<std::uint32_t>& shapes = constants.fitted_shapes;
    std::size_t timed = 0, fitted = 0;
    for (const std::size_t r : indices) {
      if (rows[r].us <= 0) continue;
      ++timed, fitted += std::ranges::binary_search(shapes, shape_hash(rows[r])) ? 1 : 0;
    }
    if (fitted == 0) return;
    result.notes.push_back(fmt::format(
        "{} was fitted to the shapes of {} of the {} with times in {}: the errors of those are no test of it",
        file, fitted, counted_rows(timed), constants.group));
  }

  // Rejects a machine that lacks the precision or the link of the rows, by the line of the first.
  void require_predictable(const TimingRow& row, const Machine& machine) const {
    try {
      form_.prepare(row, machine, {});
    } catch (const Error& error) {
      throw at_line(error, table_, row);
    }
  }

  // Names of kernels show the library's tiles; they hold no times.
  void use_kernel_names(Predictor& predictor, const Machine& machine, const std::vector<TimingRow>& rows,
                        const std::vector<std::size_t>& indices) const {
    std::vector<TimingRow> named;
    for (const std::size_t r : indices)
      if (!rows[r].kernel_name.empty()) {
        named.push_back(rows[r]);
        named.back().us = 0;  // a prediction must not look at the times it is judged by
      }
    if (named.size() < kMinNamedRows) return;
    if (Traits traits = form_.learn_traits(named, machine); !traits.empty())
      predictor.set_traits(std::move(traits));
  }

  static PredictedPart part_of(const TablePrediction& result, const std::vector<TimingRow>& rows,
                               const std::vector<std::size_t>& indices, const std::string& device,
                               const std::string& group, const std::string& basis) {
    std::vector<JudgedRow> judged;
    for (const std::size_t r : indices) {
      const PredictedTime& t = result.times[r];
      if (rows[r].us > 0) judged.push_back({rows[r].us, t.us, t.low_us, t.high_us});
    }
    return {device, group, basis, indices.size(), judge(judged)};
  }

  const TimingTable& table_;
  const KernelForm& form_;
  NamedCalibration given_;
  std::unique_ptr<Machine> machine_;
};

}  // namespace

NamedCalibration read_calibration(const std::string& file) {
  return {std::make_shared<const Calibration>(
              calibration_from_json(parse_object(read_file(file), file, kCalibrationHint), file)),
          file};
}

Machine machine_of_device(const TimingTable& table, const TimingRow& row) {
  try {
    return find_machine(row.device);
  } catch (const Error& error) {
    throw at_line(error, table, row);
  }
}

bool names_machine(const std::string& device, const Machine& machine) {
  if (device == machine.name) return true;
  try {
    return find_machine(device).name == machine.name;
  } catch (const Error&) {
    return false;
  }
}

TablePrediction predict_table(const TimingTable& table, const KernelForm& form, const TableSource& source) {
  return TablePredictor(table, form, source).predict(rows_of(table, form, false, source.precision));
}

}  // namespace headroom
