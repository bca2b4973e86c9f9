#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "profile/rank_trace.h"
#include "report/profile.h"
#include "report/profile_memory.h"

namespace headroom {
namespace {

// What a layer's share of the steps adds up to.
struct LayerTimes {
  double forward_s = 0, backward_s = 0, update_s = 0, flops = 0, bytes = 0, floor_s = 0, predicted_s = 0;
  double joules = 0, peak_bytes = 0;
  double measured_s() const { return forward_s + backward_s + update_s; }
  void add(const LayerTimes& other) {
    forward_s += other.forward_s, backward_s += other.backward_s, update_s += other.update_s;
    flops += other.flops, bytes += other.bytes, floor_s += other.floor_s, predicted_s += other.predicted_s;
    joules += other.joules, peak_bytes += other.peak_bytes;
  }
};

// One step's share of a layer.
LayerTimes share_of_step(const RunProfile& profile, std::size_t s, const Charge& charge) {
  const RecordedStep& step = profile.record.plan->steps[s];
  LayerTimes t;
  const double seconds = profile.record.measurement ? profile.record.measurement->steps[s].mean() : 0;
  (charge.phase == Phase::forward    ? t.forward_s
   : charge.phase == Phase::backward ? t.backward_s
                                     : t.update_s) = charge.share * seconds;
  t.flops = charge.share * step.flops, t.bytes = charge.share * step.bytes;
  if (profile.record.prediction) {
    t.floor_s = charge.share * profile.record.prediction->steps[s].floor_s;
    t.predicted_s = charge.share * profile.record.prediction->steps[s].predicted_s;
  }
  return t;
}

std::vector<std::pair<std::string, LayerTimes>> times_by_layer(const RunProfile& profile) {
  std::vector<std::pair<std::string, LayerTimes>> rows;  // in network order
  const std::vector<RecordedStep>& steps = profile.record.plan->steps;
  for (std::size_t s = 0; s < steps.size(); ++s)
    for (const Charge& charge : steps[s].charges) {
      auto it = std::ranges::find(rows, charge.layer, &std::pair<std::string, LayerTimes>::first);
      if (it == rows.end()) it = rows.insert(rows.end(), {charge.layer, {}});
      it->second.add(share_of_step(profile, s, charge));
    }
  const std::map<std::string, std::int64_t> peak = peak_bytes_by_layer(profile.record);
  for (auto& [layer, times] : rows)
    if (const auto it = peak.find(layer); it != peak.end()) times.peak_bytes = double(it->second);
  if (profile.energy)
    for (auto& [layer, times] : rows)
      if (const auto it = profile.energy->layer_j.find(layer); it != profile.energy->layer_j.end())
        times.joules = it->second;
  return rows;
}

// Energy has a column if it was measured.
std::vector<Column> layer_columns(bool energy = false) {
  using enum Column::Format;
  return {
      {.key = "layer", .title = "layer"},
      {.key = "forward_ms", .title = "forward ms", .unit = "ms", .dash_zero = true},
      {.key = "backward_ms", .title = "backward ms", .unit = "ms", .dash_zero = true},
      {.key = "update_ms", .title = "update ms", .unit = "ms", .dash_zero = true, .priority = 4},
      {.key = "total_ms", .title = "total ms", .unit = "ms"},
      {.key = "percent_of_step", .title = "% of step", .unit = "%", .format = tenths},
      {.key = "gflop", .title = "GFLOP", .unit = "GFLOP", .dash_zero = true, .priority = 6},
      {.key = "mbytes", .title = "MB", .unit = "MB", .format = hundredths, .dash_zero = true, .priority = 6},
      {.key = "tflops_per_s", .title = "TFLOP/s", .unit = "TFLOP/s", .dash_zero = true, .priority = 3},
      {.key = "gbytes_per_s",
       .title = "GB/s",
       .unit = "GB/s",
       .format = tenths,
       .dash_zero = true,
       .priority = 5},
      {.key = "percent_of_roofline",
       .title = "% of roofline",
       .unit = "%",
       .format = tenths,
       .dash_zero = true},
      {.key = "headroom_ms", .title = "headroom ms", .unit = "ms", .priority = 1},
      {.key = "predicted_ms", .title = "predicted ms", .unit = "ms", .dash_zero = true, .priority = 2},
      {.key = "peak_mbytes",
       .title = "MB at peak",
       .unit = "MB",
       .format = hundredths,
       .dash_zero = true,
       .priority = 7},
      {.key = "energy_mj", .title = energy ? "mJ" : "", .unit = "mJ", .dash_zero = true, .priority = 1}};
}

std::vector<Cell> layer_cells(const std::string& name, const LayerTimes& t, double step_s) {
  const double s = t.measured_s();
  const auto per_second = [&](double amount) { return s > 0 ? Cell(amount / s) : Cell(); };
  return {name,
          t.forward_s * 1e3,
          t.backward_s * 1e3,
          t.update_s * 1e3,
          s * 1e3,
          step_s > 0 ? Cell(100 * s / step_s) : Cell(),
          t.flops / 1e9,
          t.bytes / 1e6,
          per_second(t.flops / 1e12),
          per_second(t.bytes / 1e9),
          s > 0 ? Cell(100 * t.floor_s / s) : Cell(),
          s > 0 ? Cell((s - t.floor_s) * 1e3) : Cell(),
          t.predicted_s * 1e3,
          t.peak_bytes / 1e6,
          known(t.joules * 1e3)};
}

// Kernels of no step: what feeds the network, and what its libraries launch beside.
double unplanned_s(const Trace& trace) {
  double seconds = 0;
  int steps = 0;
  for (const Trace::Window& w : trace.windows) {
    if (w.rank != 0) continue;
    steps += w.steps;
    for (const Trace::Kernel& k : trace.kernels)
      if (k.step < 0 && trace.lanes[static_cast<std::size_t>(k.lane)].rank == 0 && w.begin_ns <= k.begin_ns &&
          k.begin_ns < w.end_ns)
        seconds += k.seconds();
  }
  return steps > 0 ? seconds / steps : 0;
}

// A GPU's trace with exchanges, none of them by kernels.
bool has_host_exchanges(const RunProfile& profile) {
  const Trace& trace = profile.trace;
  return !trace.kernels.empty() && std::ranges::none_of(trace.kernels, [&](const Trace::Kernel& k) {
    return is_exchange_kernel(trace.text(k.name));
  });
}

std::vector<Cell> single_row(const std::string& name, double seconds, double step_s) {
  std::vector<Cell> cells(layer_columns().size());
  cells[0] = name, cells[4] = seconds * 1e3;
  if (step_s > 0) cells[5] = 100 * seconds / step_s;
  return cells;
}

const RecordedPlan& plan_of(const RunProfile& profile) {
  if (!profile.record.plan) reject("this profile has no plan");
  return *profile.record.plan;
}

}  // namespace

Sheet profiled_layer_columns() { return Sheet("layers", layer_columns()); }

Sheet profiled_layer_sheet(const RunProfile& profile) {
  plan_of(profile);
  Sheet sheet("layers", layer_columns(profile.energy.has_value()));
  const StepParts parts = step_parts(profile.trace);
  LayerTimes total;
  for (const auto& [layer, times] : times_by_layer(profile)) {
    sheet.row(layer_cells(layer, times, parts.step));
    total.add(times);
  }
  const double unplanned = unplanned_s(profile.trace);
  const double busy = parts.compute + parts.transfer + parts.waiting;  // exchanges are steps of the plan, too
  // The host's exchanges for a GPU have no kernels, so that no layer has their time.
  const double by_host = has_host_exchanges(profile) ? parts.transfer + parts.waiting : 0;
  const double together = busy - total.measured_s() - unplanned - by_host;
  sheet.rule();
  sheet.row(layer_cells("all layers", total, parts.step));
  if (unplanned > 0) sheet.row(single_row("kernels of no layer", unplanned, parts.step));
  if (by_host > 0) sheet.row(single_row("exchanges by the host", by_host, parts.step));
  if (std::abs(together) > 1e-3 * parts.step)
    sheet.row(single_row(together < 0 ? "two kernels at once" : "not measured", together, parts.step));
  sheet.row(single_row("copies, host and idle", parts.step - busy, parts.step));
  std::vector<Cell> last = single_row("step", parts.step, parts.step);
  sheet.total(last);
  return sheet;
}

Sheet open_layer_sheet(const RunProfile& profile, const std::string& layer) {
  using enum Column::Format;
  const RecordedPlan& plan = plan_of(profile);
  std::vector<std::string> names;
  for (const auto& [name, times] : times_by_layer(profile)) names.push_back(name);
  if (std::ranges::find(names, layer) == names.end())
    reject(nearest(layer, names), "there is no layer '{}'", layer);
  Sheet sheet("layer",
              {{.key = "step", .title = "step"},
               {.key = "phase", .title = "phase", .left = true},
               {.key = "op", .title = "operator", .left = true},
               {.key = "kernel", .title = "kernel", .left = true, .wrap = true},
               {.key = "share_percent", .title = "share %", .unit = "%", .format = tenths},
               {.key = "ms", .title = "ms", .unit = "ms"},
               {.key = "floor_ms", .title = "floor ms", .unit = "ms", .dash_zero = true},
               {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths}});
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    for (const Charge& charge : plan.steps[s].charges) {
      if (charge.layer != layer) continue;
      const LayerTimes t = share_of_step(profile, s, charge);
      const RecordedStep& step = plan.steps[s];
      const double seconds = t.measured_s();
      sheet.row({std::int64_t(s), std::string(name_of(charge.phase)), step.op,
                 step.variant.empty() ? step.kernel : step.kernel + ": " + step.variant, 100 * charge.share,
                 seconds * 1e3, t.floor_s * 1e3, seconds > 0 ? Cell(100 * t.floor_s / seconds) : Cell()});
      if (!profile.record.measurement) continue;
      for (const Measurement::Launch& launch : profile.record.measurement->steps[s].launches)
        sheet.row({Cell(), std::string(), std::string(), "  " + launch.name, Cell(),
                   (launch.end_s - launch.begin_s) * 1e3, Cell(), Cell()});
    }
  return sheet;
}

}  // namespace headroom
