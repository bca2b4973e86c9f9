#include "bench/allreduce.h"

#include "base/json.h"
#include "cli/bench.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "comm/world.h"
#include "machine/machine.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct BenchAllreduceRequest {
  Common common;
  ParallelOptions parallel;
  std::int64_t max_bytes = kMaxAllReduce;
  BenchTarget target;
};

struct Result {
  std::string communicator, device;
  int ranks = 1;
  std::vector<AllReduceTiming> timings;
  std::string kept;  // the machine that now holds it; empty: none

  double latency_s() const { return timings.front().seconds.median; }
  bool tells_bandwidth() const { return timings.back().bytes >= 1 << 20; }
  double bytes_per_s() const { return timings.back().bus_bytes_per_s(ranks); }
};

// Saves the link in the machine entry of this host, if that was measured: a link alone is not a machine.
std::string keep(const Result& result, DeviceKind device) {
  if (!result.tells_bandwidth()) return {};
  const char* name = device == DeviceKind::cpu ? "here" : "here-gpu";
  std::error_code error;
  if (!std::filesystem::exists(machine_file(name), error)) return {};
  try {
    Machine machine = find_machine(name);
    machine.rank_link = {result.ranks, result.latency_s(), result.bytes_per_s()};
    save_machine(machine);
  } catch (const Error& reason) {  // the measurement is still worth printing
    warn(fmt::format("the link was not saved: {}", reason.what()));
    return {};
  }
  return name;
}

Json to_json(const Result& r) {
  Json sizes = Json::array();
  for (const AllReduceTiming& t : r.timings) {
    sizes.push_back({{"bytes", t.bytes},
                     {"ms", spread_json(t.seconds)},
                     {"bus_gb_per_s", t.bus_bytes_per_s(r.ranks) / 1e9},
                     {"plain_mpi_ms", spread_json(t.plain)},
                     {"of_plain_mpi", t.of_plain()},
                     {"min_ms", t.seconds.min * 1e3},
                     {"plain_mpi_min_ms", t.plain.min * 1e3}});
    if (t.copy_s > 0)
      sizes.back().update({{"copy_ms", t.copy_s * 1e3},
                           {"mpi_ms", t.message_s() * 1e3},
                           {"total_ms", t.total_s * 1e3},
                           {"copy_hidden", t.hidden()}});
  }
  Json json = {{"ranks", r.ranks},
               {"device", r.device},
               {"communicator", r.communicator},
               {"sizes", sizes},
               {"link", {{"latency_s", r.latency_s()}, {"bytes_per_s", r.bytes_per_s()}}}};
  if (!r.kept.empty()) json["kept_as"] = r.kept;
  return json;
}

Sheet sizes_sheet(const Result& r) {
  using enum Column::Format;
  const bool staged = r.timings.back().copy_s > 0;
  const auto shown = [&](const char* title) { return std::string(staged ? title : ""); };
  Sheet sheet(
      "allreduce",
      {{.key = "bytes", .title = "bytes", .unit = "B", .format = commas},
       {.key = "us", .title = "us", .unit = "us"},
       {.key = "us_p10_to_p90", .title = "10 to 90 %", .priority = 2},
       {.key = "bus_gb_per_s", .title = "bus GB/s", .unit = "GB/s", .format = thousandths},
       {.key = "plain_mpi_us", .title = "plain MPI us", .unit = "us", .priority = 1},
       {.key = "of_plain_mpi", .title = "of plain MPI", .format = hundredths},
       {.key = "copies_us", .title = shown("copies us"), .unit = "us", .priority = 3},
       {.key = "mpi_us", .title = shown("MPI us"), .unit = "us", .priority = 4},
       {.key = "total_us", .title = shown("total us"), .unit = "us", .priority = 4},
       {.key = "copies_hidden", .title = shown("copies hidden"), .format = hundredths, .priority = 3}});
  auto us = [](double seconds) { return fixed_or_small(seconds * 1e6); };
  for (const AllReduceTiming& t : r.timings)
    sheet.row({std::int64_t{t.bytes}, t.seconds.median * 1e6,
               fmt::format("{} to {}", us(t.seconds.p10), us(t.seconds.p90)),
               t.bus_bytes_per_s(r.ranks) / 1e9, t.plain.median * 1e6, t.of_plain(), known(t.copy_s * 1e6),
               staged ? Cell(t.message_s() * 1e6) : Cell(), staged ? Cell(t.total_s * 1e6) : Cell(),
               staged ? Cell(t.hidden()) : Cell()});
  return sheet;
}

std::string notes(const Result& r) {
  std::string text;
  text += fmt::format(
      "\nAll-reduce of fp32 on {} ranks, {}, by {}: medians of {} and more samples of the slowest rank.\n"
      "Bus: 2(p-1)/p times the bytes over the time. Of plain MPI: its speed, MPI_Allreduce of the host's "
      "memory being 1.\n",
      r.ranks, r.device, r.communicator, r.timings.back().seconds.samples);
  std::vector<Sampled> medians;
  for (const AllReduceTiming& t : r.timings) medians.insert(medians.end(), {t.seconds, t.plain});
  text += sampling_note(medians);
  if (r.timings.back().copy_s > 0)
    text +=
        "Copies: both directions as if nothing overlapped. Total: copies and messages, from first to "
        "last.\n";
  text += fmt::format("Link: {} and {} between {} ranks", human_seconds(r.latency_s()),
                      si(r.bytes_per_s(), "B/s"), r.ranks);
  if (!r.kept.empty())
    text += fmt::format(", saved with the machine '{}'.\n", r.kept);
  else
    text += r.tells_bandwidth() ? ". Not saved: run headroom roofline first, then this again.\n"
                                : ". Not saved: sums below 1 MB show only latency.\n";
  return text;
}

void run(BenchAllreduceRequest& r) {
  require_output(r.target, r.common);
  if (r.max_bytes < kLeastAllReduce || r.max_bytes > std::int64_t{1} << 34)
    reject("--max-bytes is {}; it must lie between {} and 17179869184 (16 GiB)", r.max_bytes,
           kLeastAllReduce);
  if (!launched_as_one_of_several())
    reject(Hint{"start several ranks: mpirun -n 2 headroom bench allreduce"},
           "an all-reduce needs at least two ranks");
  RankRun ranks(r.parallel, r.common);
  std::unique_ptr<Device> device;
  ranks.agree([&] { device = r.common.open(); });
  World& world = World::instance();
  const bool gpu = device->kind() != DeviceKind::cpu;
  std::unique_ptr<Communicator> own;
  if (gpu) own = world.for_device(*device, world.communicator(), r.parallel.nccl);
  Communicator& communicator = gpu ? *own : world.communicator();
  Result result{.communicator = std::string(communicator.kind()),
                .device = device->capabilities().name,
                .ranks = world.size()};
  {
    Progress progress("bench");
    const auto say = [&](const std::string& size) {
      if (ranks.first()) progress.stage(size);
    };
    result.timings =
        bench_all_reduce(communicator, world.communicator(), gpu ? device.get() : nullptr, r.max_bytes, say);
  }
  if (!ranks.first()) return;
  result.kept = keep(result, device->kind());
  finish_bench({"bench allreduce", {{sizes_sheet(result), "", notes(result)}}, to_json(result)}, r.common,
               r.target, nullptr);
}

}  // namespace

void add_bench_allreduce(Command verb) {
  auto r = std::make_shared<BenchAllreduceRequest>();
  Command all = verb.verb("allreduce", "sums over ranks, 512 B to 256 MB, against plain MPI; under mpirun");
  add_json(all, r->common);
  add_table_options(all, r->common.tables);
  add_bench_output(all, r->target);
  all.option("--device", r->common.device, "memory to exchange: cpu or cuda");
  all.option("--max-bytes", r->max_bytes, "size of the largest sum in bytes");
  all.flag("--nccl,!--no-nccl", r->parallel.nccl,
           "exchange between GPUs by NCCL if each rank has its own, or by MPI");
  all.example("mpirun -n 2 headroom bench allreduce");
  all.runs_on_ranks([r] { run(*r); });
}

}  // namespace headroom::cli
