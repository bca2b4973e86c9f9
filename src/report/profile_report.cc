#include "report/profile_report.h"

#include <algorithm>

#include "base/json.h"
#include "base/units.h"
#include "report/counter_sheets.h"
#include "report/findings.h"
#include "report/gpu_sample_sheets.h"
#include "report/profile_card.h"
#include "report/profile_copies.h"
#include "report/profile_events.h"
#include "report/profile_flat.h"
#include "report/profile_kernels.h"
#include "report/profile_memory.h"
#include "report/profile_ranges.h"
#include "report/profile_rates.h"
#include "report/profile_run_sheet.h"
#include "report/program_sheets.h"
#include "report/tuning_sheet.h"

namespace headroom {
namespace {

std::string program_words(const std::vector<std::string>& command) {
  const auto dashes = std::ranges::find(command, "--");
  if (dashes == command.end()) return "program";
  return fmt::format("{}", fmt::join(dashes + 1, command.end(), " "));
}

std::string headline(const RunProfile& profile) {
  const StepParts parts = step_parts(profile.trace);
  const RunRecord& r = profile.record;
  if (is_of_program(profile))
    return fmt::format("{}: {} steps watched, {} each\n", program_words(r.command), parts.steps,
                       human_seconds(parts.step));
  std::string text =
      fmt::format("{}, batch {}, {} on {}: {} steps watched, {} each\n", r.model ? r.model->name : "model",
                  r.plan ? r.plan->batch : 0, r.plan ? r.plan->precision : "", r.plan ? r.plan->device : "",
                  parts.steps, human_seconds(parts.step));
  if (!profile.energy) return text;
  const double images = r.plan ? double(r.plan->batch) : 1;
  return text +
         fmt::format("Energy: {:.4g} J per step, {:.4g} mJ per item, {:.4g} W; layers add up to {:.4g} J\n",
                     profile.energy->run_j, 1e3 * profile.energy->run_j / images,
                     profile.energy->run_j / profile.energy->run_s, profile.energy->sum_j());
}

// Those of the trace, after what a reader must know before them.
std::vector<std::string> notes_of(const RunProfile& profile) {
  std::vector<std::string> notes;
  if (profile.trace.windows.empty()) notes.emplace_back(kNothingWatched);
  notes.insert(notes.end(), profile.trace.notes.begin(), profile.trace.notes.end());
  return notes;
}

std::string notes_text(const RunProfile& profile) {
  std::string text;
  for (const std::string& what : notes_of(profile)) text += what + "\n";
  return text;
}

std::string own_cost(const RunProfile& profile) {
  const Trace& t = profile.trace;
  std::string text = fmt::format(
      "The profiler spent {} recording {} spans, {} kernels, {} copies and {} calls",
      human_seconds(t.own_cost_s), t.spans.size(), t.kernels.size(), t.copies.size(), t.calls.size());
  if (t.dropped > 0) text += fmt::format("; {} events found no room", t.dropped);
  text += ".\n";
  return text;
}

double link_of(const RunProfile& profile) {
  return profile.record.machine ? profile.record.machine->host_link.bytes_per_s : 0;
}

std::vector<LaunchCard> cards_of(const RunProfile& profile, const std::string& kernel) {
  if (profile.trace.kernels.empty())
    reject(Hint{"add `device` cuda"}, "a launch card is about a kernel of a GPU, and this profile has none");
  std::optional<SmLimits> limits;
  if (profile.record.machine) limits = sm_limits(profile.record.machine->compute_capability);
  return launch_cards(profile.trace, kernel, limits);
}

// What the layers' table says of a network, as far as a program tells it.
std::string program_tables_text(const RunProfile& profile, const TableView& view) {
  std::string text = "\n";
  TableView top = view;
  constexpr std::int64_t kRows = 12;
  if (top.top == 0) top.top = kRows;
  for (const Sheet& sheet :
       {range_kernels_sheet(profile.trace), calls_sheet(profile.trace), copies_sheet(profile.trace, 0)})
    if (sheet.rows() > 0) text += sheet.text(top) + "\n";
  for (const char* name : {"launch_counters", "layer_counters", "tuning", "whole_run"})
    for (const Sheet& sheet : profile.record.tables)
      if (sheet.name() == name && sheet.rows() > 0) text += sheet.text(top) + "\n";
  return text;
}

}  // namespace

std::vector<Sheet> profile_sheets(const RunProfile& profile) {
  std::vector<Sheet> sheets;
  const auto add = [&](Sheet sheet) {
    if (sheet.rows() > 0) sheets.push_back(std::move(sheet));
  };
  add(step_sheet(profile.trace));
  add(split_sheet(profile.trace));
  if (profile.record.plan) add(profiled_layer_sheet(profile));
  add(layer_counters_sheet(profile.record));
  add(kernel_counters_sheet(profile.record));
  add(launch_counters_sheet(profile.record));
  add(tuning_sheet(profile.record));
  add(kernels_sheet(profile.trace));
  add(calls_sheet(profile.trace));
  add(copies_sheet(profile.trace, link_of(profile)));
  add(rates_sheet(profile));
  add(findings_sheet(findings_of(profile)));
  add(events_sheet(profile));
  add(flat_sheet(profile.trace, TracePart::whole_run));
  add(flat_sum_sheet(profile.trace, TracePart::whole_run));
  add(ranges_sheet(range_rows(profile.trace, TracePart::whole_run)));
  add(memory_sheet(profile.record));
  add(layer_memory_sheet(profile.record));
  add(alive_sheet(profile.record));
  add(run_sheet(profile.facts));
  add(range_kernels_sheet(profile.trace));
  for (const Sheet& sheet : profile.record.tables)
    if (std::ranges::find(sheets, sheet.name(), &Sheet::name) == sheets.end()) add(sheet);
  return sheets;
}

std::string profile_text(const RunProfile& profile, const TableView& view, const TableView& layers) {
  std::string text = headline(profile) + "\n";
  if (profile.trace.windows.empty()) return text + notes_text(profile);
  text += step_sheet(profile.trace).text(view) + "\n";
  if (profile.record.plan) text += profiled_layer_sheet(profile).text(layers) + "\n";
  for (const Sheet& sheet : {layer_counters_sheet(profile.record), kernel_counters_sheet(profile.record),
                             tuning_sheet(profile.record)})
    if (sheet.rows() > 0) text += sheet.text(view) + "\n";
  for (const std::string_view name : {kSampledLayers, kGpuUse})
    if (const Sheet* sheet = find_table(profile.record, name)) text += sheet->text(view) + "\n";
  const Sheet kernels = kernels_sheet(profile.trace);
  TableView top = view;
  constexpr std::int64_t kMinKernels = 5;
  top.top = std::max(kMinKernels, majority_of(kernels).rows);
  text += kernels.text(top) + majority_sentence(kernels, "kernel", "kernel time") + "\n";
  if (is_of_program(profile)) text += program_tables_text(profile, view);
  text += findings_text(findings_of(profile), view) + "\n";
  return text + own_cost(profile) + notes_text(profile);
}

Json profile_json(const RunProfile& profile) {
  Json json = {{"record", to_json(profile.record)}, {"tables", Json::object()}};
  for (const Sheet& sheet : profile_sheets(profile)) json["tables"][sheet.name()] = sheet.objects();
  if (profile.energy)
    json["energy"] = {{"step_j", profile.energy->run_j},
                      {"step_s", profile.energy->run_s},
                      {"layers_j", profile.energy->layer_j}};
  json["own_cost_s"] = profile.trace.own_cost_s;
  json["dropped"] = profile.trace.dropped;
  json["notes"] = notes_of(profile);
  return json;
}

std::string profile_card(const RunProfile& profile, const std::string& kernel) {
  return card_text(cards_of(profile, kernel));
}

Sheet profile_cards(const RunProfile& profile, const std::string& kernel) {
  return card_sheet(cards_of(profile, kernel));
}

}  // namespace headroom
