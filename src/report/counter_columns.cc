#include "report/counter_columns.h"

#include <algorithm>

#include "profile/gpu_counters.h"
#include "profile/gpu_occupancy.h"
#include "report/kernel_names.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxPasses = 64;

void add_row(CountedRows& rows, const std::string& name, const Counted& counted, double share) {
  auto row = std::ranges::find(rows, name, &CountedRows::value_type::first);
  if (row == rows.end()) row = rows.insert(row, {name, {}});
  row->second.add(counted, share);
}

// Calls `add` with the number of every step of the plan and what was counted in it.
template <class Add>
CountedRows counted_rows(const RunRecord& r, Add&& add) {
  CountedRows rows;
  if (!r.plan || !r.measurement || r.measurement->steps.size() != r.plan->steps.size()) return rows;
  const auto limits = r.machine ? sm_limits(r.machine->compute_capability) : std::optional<SmLimits>();
  for (std::size_t s = 0; s < r.plan->steps.size(); ++s) {
    const Measurement::Step& step = r.measurement->steps[s];
    if (step.counters.empty()) continue;
    const bool has_floor = r.prediction && s < r.prediction->steps.size();
    add(rows, s,
        Counted{.counters = step.counters,
                .bytes = r.plan->steps[s].bytes,
                .seconds = step.mean(),
                .floor_s = has_floor ? r.prediction->steps[s].floor_s : 0,
                .warp_slots = limits ? limits->warps : 0});
  }
  return rows;
}

}  // namespace

std::optional<std::vector<double>> Counted::together(const std::vector<std::string>& names) const {
  const auto values_of = [&](auto&& key_of) -> std::optional<std::vector<double>> {
    std::vector<double> values;
    for (const std::string& name : names) {
      const auto it = counters.find(key_of(name));
      if (it == counters.end()) return {};
      values.push_back(it->second);
    }
    return values;
  };
  if (auto values = values_of([](const std::string& name) { return name; })) return values;
  for (std::size_t pass = 0; pass <= kMaxPasses; ++pass)
    if (auto values = values_of([&](const std::string& name) { return counter_key(pass, name); }))
      return values;
  return {};
}

void Counted::add(const Counted& other, double share) {
  for (const auto& [counter, value] : other.counters) counters[counter] += share * value;
  bytes += share * other.bytes;
  seconds += share * other.seconds, floor_s += share * other.floor_s;
  warp_slots = other.warp_slots;
}

Cell ratio_of(double numerator, double denominator, double scale) {
  return denominator > 0 ? Cell(scale * numerator / denominator) : Cell();
}

CounterColumn plain_column(const char* counter, const char* key, const char* title, double scale,
                           Column::Format format, int priority) {
  return {{.key = key, .title = title, .format = format, .priority = priority},
          {counter},
          [=](const std::vector<double>& v, const Counted&) { return Cell(scale * v[0]); }};
}

CountedRows counted_kernels(const RunRecord& record) {
  return counted_rows(record, [&](CountedRows& rows, std::size_t s, const Counted& counted) {
    const RecordedStep& step = record.plan->steps[s];
    add_row(rows, step.op + " " + step.kernel, counted, 1);
  });
}

CountedRows counted_layers(const RunRecord& record) {
  return counted_rows(record, [&](CountedRows& rows, std::size_t s, const Counted& counted) {
    for (const Charge& charge : record.plan->steps[s].charges)
      add_row(rows, charge.layer, counted, charge.share);
  });
}

CountedRows counted_launches(const RunRecord& record) {
  return counted_rows(record, [&](CountedRows& rows, std::size_t s, const Counted& counted) {
    std::vector<std::string> names;
    for (const Measurement::Launch& launch : record.measurement->steps[s].launches)
      if (const std::string name = short_kernel_name(launch.name); names.empty() || names.back() != name)
        names.push_back(name);
    if (!names.empty()) add_row(rows, fmt::format("{}", fmt::join(names, " + ")), counted, 1);
  });
}

}  // namespace headroom
