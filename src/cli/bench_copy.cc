#include "bench/copy.h"

#include "base/json.h"
#include "cli/bench.h"
#include "cli/progress.h"
#include "report/chart.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct BenchCopyRequest {
  Common common;
  BenchTarget target;
  std::int64_t max_bytes = kMaxCopy;
};

Cell percent_of_ceiling(const CopyTiming& t) {
  return t.ceiling > 0 ? Cell(100 * t.bytes_per_s() / t.ceiling) : Cell();
}

std::string share_key(bool gpu) { return gpu ? "percent_of_link" : "percent_of_memory"; }

// The first and the last row of each kind of copy: its latency and its bandwidth.
std::string copy_summary(const std::vector<CopyTiming>& timings) {
  std::string text;
  for (const CopyTiming& first : timings) {
    if (first.bytes != timings.front().bytes) break;
    const CopyTiming* last = &first;
    for (const CopyTiming& t : timings)
      if (t.path == first.path && t.memory == first.memory) last = &t;
    text += fmt::format("{}, {}: latency {}, bandwidth {}\n", first.path, first.memory,
                        human_seconds(first.seconds.median), si(last->bytes_per_s(), "B/s"));
  }
  return text;
}

BenchTable copies_table(const std::vector<CopyTiming>& timings, bool gpu) {
  using enum Column::Format;
  Sheet sheet("copy", {{.key = "bytes", .title = "bytes", .unit = "B", .format = commas},
                       {.key = "path", .title = "copy", .left = true},
                       {.key = "memory", .title = gpu ? "memory" : "by", .left = true},
                       {.key = "us", .title = "us", .unit = "us"},
                       {.key = "us_p10", .title = "10 %", .unit = "us", .priority = 2},
                       {.key = "us_p90", .title = "90 %", .unit = "us", .priority = 2},
                       {.key = "gb_per_s", .title = "GB/s", .unit = "GB/s", .format = hundredths},
                       {.key = share_key(gpu),
                        .title = gpu ? "% of link" : "% of memory",
                        .unit = "%",
                        .format = tenths,
                        .priority = 1},
                       {.key = "samples", .title = "samples", .priority = 3}});
  std::vector<Sampled> medians;
  std::int64_t last = 0;
  for (const CopyTiming& t : timings) {
    if (last != 0 && last != t.bytes) sheet.rule();
    last = t.bytes;
    sheet.row({t.bytes, t.path, t.memory, t.seconds.median * 1e6, t.seconds.p10 * 1e6, t.seconds.p90 * 1e6,
               t.bytes_per_s() / 1e9, percent_of_ceiling(t), t.seconds.samples});
    medians.push_back(t.seconds);
  }
  std::string below = "\n" + copy_summary(timings);
  below += gpu ? "One copy, from an idle GPU until the host knows that it has ended. GB/s: bytes once. % of "
                 "link: of the\n"
                 "machine table's link, or of the measured one; on the device of half its memory bandwidth.\n"
               : "GB/s: bytes once. % of memory: of half the bandwidth of the level that holds both arrays, "
                 "because a\n"
                 "copy reads and writes.\n";
  return {sheet, "", below + sampling_note(medians)};
}

Json copies_json(const std::vector<CopyTiming>& timings, const Device& device) {
  Json list = Json::array();
  for (const CopyTiming& t : timings) {
    list.push_back({{"path", t.path},
                    {"memory", t.memory},
                    {"bytes", t.bytes},
                    {"ms", spread_json(t.seconds)},
                    {"gb_per_s", t.bytes_per_s() / 1e9}});
    if (t.ceiling > 0)
      list.back()[share_key(device.kind() != DeviceKind::cpu)] = 100 * t.bytes_per_s() / t.ceiling;
  }
  return {{"device", device.capabilities().name}, {"copies", list}};
}

std::string copies_chart(const std::vector<CopyTiming>& timings, const Device& device) {
  LineChart chart{.title = "Copies by size",
                  .x = {"size", "B", AxisScale::log},
                  .y = {"bandwidth", "GB/s", AxisScale::log},
                  .note = device.capabilities().name};
  for (const CopyTiming& t : timings) {
    const std::string name = t.path + ", " + t.memory;
    auto series = std::ranges::find(chart.series, name, &LineSeries::name);
    if (series == chart.series.end()) series = chart.series.insert(series, {.name = name});
    series->points.push_back({static_cast<double>(t.bytes), t.bytes_per_s() / 1e9});
  }
  return svg(chart);
}

void run_copies(const BenchCopyRequest& r) {
  require_output(r.target, r.common);
  require_svg(r.target);
  const auto device = r.common.open();
  require_copies(*device, r.max_bytes);
  const Machine machine = r.common.machine(*device);
  std::vector<CopyTiming> timings;
  {
    Progress progress("bench copy");
    timings =
        bench_copies(*device, machine, r.max_bytes, [&](const std::string& size) { progress.stage(size); });
  }
  finish_bench({"bench copy",
                {copies_table(timings, device->kind() != DeviceKind::cpu)},
                copies_json(timings, *device),
                {{"", copies_chart(timings, *device)}}},
               r.common, r.target, &machine);
}

}  // namespace

void add_bench_copy(Command verb) {
  auto r = std::make_shared<BenchCopyRequest>();
  Command copy = verb.verb("copy", "copies between host and GPU and within each, 4 KB to 1 GB");
  add_json(copy, r->common);
  add_table_options(copy, r->common.tables);
  add_bench_output(copy, r->target);
  add_svg_option(copy, r->target.svg);
  copy.option("--device", r->common.device, "cpu, cuda, or cuda:1 for the second GPU");
  copy.option("--threads", r->common.threads, "CPU threads; 0: one per core");
  copy.option("--max-bytes", r->max_bytes, "size of the largest copy in bytes");
  copy.example("headroom bench copy --max-bytes 67108864");
  copy.runs([r] { run_copies(*r); });
}

}  // namespace headroom::cli
