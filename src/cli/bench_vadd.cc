#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "bench/vadd.h"
#include "cli/bench.h"
#include "cli/counts.h"
#include "cli/progress.h"
#include "report/chart.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct BenchVaddRequest {
  Common common;
  BenchTarget target;
  std::string elements = "1M,5M,10M,50M,100M";
};

struct VaddResult {
  std::vector<VaddTiming> timings;
  std::string cpu, gpu;  // names of the devices; empty: no GPU
  Machine cpu_machine, gpu_machine;

  const Machine::Level& level_of(const VaddTiming& t) const {
    return (t.on_gpu() ? gpu_machine : cpu_machine).level_for(8.0 * static_cast<double>(t.elements));
  }
  // Of the bandwidth of the memory that holds both vectors. Empty where the driver moves pages meanwhile.
  Cell percent_of_memory(const VaddTiming& t) const {
    if (t.memory == VaddMemory::managed) return {};
    const Machine::Level& level = level_of(t);
    const bool one = t.launch == VaddLaunch::one_core && level.one_core_bytes_per_s > 0;
    return known(100 * t.bytes_per_s() / (one ? level.one_core_bytes_per_s : level.bytes_per_s));
  }
};

Cell ms_of(const Spread& part) { return part.samples > 0 ? Cell(part.median * 1e3) : Cell(); }

BenchTable vadd_table(const VaddResult& result) {
  using enum Column::Format;
  Sheet sheet(
      "vadd",
      {{.key = "elements", .title = "elements", .format = commas},
       {.key = "runs_on", .title = "runs on", .left = true},
       {.key = "memory", .title = "vectors", .left = true},
       {.key = "add_ms", .title = "add ms", .unit = "ms"},
       {.key = "add_p10_ms", .title = "10 %", .unit = "ms", .priority = 5},
       {.key = "add_p90_ms", .title = "90 %", .unit = "ms", .priority = 5},
       {.key = "gb_per_s", .title = "GB/s", .unit = "GB/s", .format = tenths},
       {.key = "percent_of_memory", .title = "% of memory", .unit = "%", .format = tenths, .priority = 3},
       {.key = "copy_in_ms", .title = "copy in ms", .unit = "ms", .priority = 2},
       {.key = "copy_out_ms", .title = "copy out ms", .unit = "ms", .priority = 2},
       {.key = "total_ms", .title = "total ms", .unit = "ms"},
       {.key = "published_add_ms", .title = "RTX 8000 add", .unit = "ms", .priority = 1},
       {.key = "published_in_ms", .title = "its copy in", .unit = "ms", .priority = 4},
       {.key = "published_out_ms", .title = "its copy out", .unit = "ms", .priority = 4},
       {.key = "samples", .title = "samples", .priority = 6}});
  std::vector<Sampled> medians;
  std::set<std::string> reasons;
  std::int64_t last = 0;
  for (const VaddTiming& t : result.timings) {
    const PublishedVadd published = published_vadd(t.elements, t.launch, t.memory);
    if (!t.why_not.empty()) reasons.insert(t.why_not);
    if (!t.why_not.empty() && published.add_ms == 0) continue;  // nothing to show but the reason
    if (last != 0 && last != t.elements) sheet.rule();
    last = t.elements;
    std::vector<Cell> cells = {t.elements, t.runs_on, std::string(name_of(t.memory))};
    if (t.why_not.empty()) {
      cells.insert(cells.end(),
                   {ms_of(t.add), t.add.p10 * 1e3, t.add.p90 * 1e3, t.bytes_per_s() / 1e9,
                    result.percent_of_memory(t), ms_of(t.copy_in), ms_of(t.copy_out), ms_of(t.total)});
      medians.push_back(t.total);
    } else {
      cells.resize(cells.size() + 8);
    }
    cells.insert(cells.end(),
                 {known(published.add_ms), known(published.copy_in_ms), known(published.copy_out_ms),
                  t.why_not.empty() ? Cell(t.total.samples) : Cell()});
    sheet.row(cells);
  }
  std::string below = fmt::format(
      "\ny = x + y in fp32 on {}{}{}. Medians; every sum was checked. GB/s: 12 bytes per element over add "
      "ms.\n"
      "Managed: the driver moves pages while the kernel adds, and back while the host reads.\n"
      "RTX 8000: a published run of the same lab (its CPU in the CPU's row).\n",
      result.cpu, result.gpu.empty() ? "" : " and ", result.gpu);
  below += sampling_note(medians);
  for (const std::string& reason : reasons)
    below += fmt::format("Not runnable here: the GPU's rows: {}\n", reason);
  return {sheet, "", below};
}

Json vadd_json(const VaddResult& result) {
  Json list = Json::array();
  for (const VaddTiming& t : result.timings) {
    Json row = {{"elements", t.elements}, {"runs_on", t.runs_on}, {"memory", name_of(t.memory)}};
    const PublishedVadd published = published_vadd(t.elements, t.launch, t.memory);
    if (published.add_ms > 0) row["published_add_ms"] = published.add_ms;
    if (published.copy_in_ms > 0) row["published_copy_in_ms"] = published.copy_in_ms;
    if (published.copy_out_ms > 0) row["published_copy_out_ms"] = published.copy_out_ms;
    if (!t.why_not.empty()) {
      row["why_not"] = t.why_not;
    } else {
      row.update({{"add_ms", t.add.median * 1e3},
                  {"gb_per_s", t.bytes_per_s() / 1e9},
                  {"total_ms", spread_json(t.total)},
                  {"checked", true}});
      if (t.copy_in.samples > 0) row["copy_in_ms"] = t.copy_in.median * 1e3;
      if (t.copy_out.samples > 0) row["copy_out_ms"] = t.copy_out.median * 1e3;
      if (const Cell percent = result.percent_of_memory(t); std::holds_alternative<double>(percent))
        row["percent_of_memory"] = std::get<double>(percent);
    }
    list.push_back(row);
  }
  Json json = {{"cpu", result.cpu}, {"additions", list}};
  if (!result.gpu.empty()) json["gpu"] = result.gpu;
  return json;
}

// One line of the chart: the rows of this launch and memory. `total`: with the copies.
void add_curve(LineChart& chart, const VaddResult& result, const std::string& name, VaddLaunch launch,
               VaddMemory memory, bool total = false) {
  LineSeries measured{.name = name}, published{.name = name + ", RTX 8000, published", .dashed = true};
  for (const VaddTiming& t : result.timings) {
    if (t.launch != launch || t.memory != memory) continue;
    const auto x = static_cast<double>(t.elements);
    const double add_ms = published_vadd(t.elements, launch, memory).add_ms;
    const double seconds = total ? t.total.median : t.add.median;
    if (t.why_not.empty() && seconds > 0)
      measured.points.push_back({x, 1e3 * seconds});
    else if (add_ms > 0 && !total)
      published.points.push_back({x, add_ms});
  }
  if (!measured.points.empty()) chart.series.push_back(measured);
  if (!published.points.empty()) chart.series.push_back(published);
}

std::string vadd_chart(const VaddResult& result, bool managed) {
  LineChart chart{.title = managed ? "Vector addition, managed memory" : "Vector addition, explicit copies",
                  .x = {"elements", "", AxisScale::log},
                  .y = {"time", "ms", AxisScale::log}};
  chart.note = result.gpu.empty() ? result.cpu + "; no GPU here" : result.cpu + "; " + result.gpu;
  const VaddMemory memory = managed ? VaddMemory::managed : VaddMemory::copied;
  add_curve(chart, result, "CPU, 1 thread", VaddLaunch::one_core, VaddMemory::host);
  add_curve(chart, result, "CPU, all threads", VaddLaunch::all_cores, VaddMemory::host);
  add_curve(chart, result, "GPU <1,1>", VaddLaunch::one_thread, memory);
  add_curve(chart, result, "GPU <1,256>", VaddLaunch::one_block, memory);
  add_curve(chart, result, "GPU full grid", VaddLaunch::full_grid, memory);
  if (managed)
    add_curve(chart, result, "full grid, prefetched", VaddLaunch::full_grid, VaddMemory::prefetched);
  add_curve(chart, result, managed ? "full grid, until the host has it" : "full grid with copies",
            VaddLaunch::full_grid, memory, true);
  return svg(chart);
}

void run_vadd(const BenchVaddRequest& r) {
  require_output(r.target, r.common);
  require_svg(r.target, {"explicit", "managed"});
  VaddRequest request{.elements = parse_counts(r.elements, "--elements"), .why_no_gpu = {}};
  require_vadd(request.elements, nullptr);
  const auto device = r.common.open();
  Device* gpu = device->kind() == DeviceKind::cuda ? device.get() : nullptr;
  if (gpu != nullptr) require_vadd(request.elements, gpu);
  if (gpu == nullptr) {
    const GpuSurvey survey = survey_gpus();
    request.why_no_gpu = survey.gpus.empty() ? survey.why_not : "--device cuda was not given";
  }
  const auto cpu = open_device("cpu", r.common.threads);
  VaddResult result{.timings = {},
                    .cpu = cpu->capabilities().name,
                    .gpu = gpu == nullptr ? "" : gpu->capabilities().name,
                    .cpu_machine = r.common.machine(*cpu),
                    .gpu_machine = {}};
  if (gpu != nullptr) result.gpu_machine = r.common.machine(*gpu);
  {
    Progress progress("bench vadd");
    result.timings = bench_vadd(*cpu, gpu, request, [&](const std::string& stage) { progress.stage(stage); });
  }
  finish_bench({"bench vadd",
                {vadd_table(result)},
                vadd_json(result),
                {{"explicit", vadd_chart(result, false)}, {"managed", vadd_chart(result, true)}}},
               r.common, r.target, gpu == nullptr ? &result.cpu_machine : &result.gpu_machine);
}

}  // namespace

void add_bench_vadd(Command verb) {
  auto r = std::make_shared<BenchVaddRequest>();
  Command vadd = verb.verb("vadd", "vector addition: CPU and GPU, copies and managed memory apart");
  add_json(vadd, r->common);
  add_table_options(vadd, r->common.tables);
  add_bench_output(vadd, r->target);
  add_svg_option(vadd, r->target.svg);
  vadd.option("--device", r->common.device, "cpu, or cuda to add on the GPU as well");
  vadd.option("--threads", r->common.threads, "CPU threads; 0: one per core");
  vadd.option("--elements", r->elements, "numbers of elements, separated by commas: 500k, 1M, 2000000");
  vadd.example("headroom bench vadd --elements 1M,10M --svg vadd.svg");
  vadd.runs([r] { run_vadd(*r); });
}

}  // namespace headroom::cli
