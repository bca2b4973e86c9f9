#include "bench/allreduce.h"

#include "base/table.h"
#include "cli/bench.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "comm/world.h"
#include "machine/machine.h"
#include "report/record.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct Request {
  Common common;
  ParallelOptions parallel;
  std::int64_t most = kMostAllReduce;
};

struct Result {
  std::string communicator, device;
  int ranks = 1;
  std::vector<AllReduceTiming> timings;
  std::string kept;  // the machine that has it now; empty: none

  double latency_s() const { return timings.front().seconds.median; }
  bool tells_bandwidth() const { return timings.back().bytes >= 1 << 20; }
  double bytes_per_s() const { return timings.back().bus_bytes_per_s(ranks); }
};

// Into the machine that stands for this one, where it was measured: a file with a link alone is none.
std::string keep(const Result& result, DeviceKind device) {
  if (!result.tells_bandwidth()) return {};
  const char* name = device == DeviceKind::cpu ? "here" : "here-gpu";
  std::error_code error;
  if (!std::filesystem::exists(machine_file(name), error)) return {};
  Machine machine = find_machine(name);
  machine.extras[std::string(kLinkLatency)] = {result.latency_s(), "s"};
  machine.extras[std::string(kLinkBandwidth)] = {result.bytes_per_s(), "B/s"};
  machine.extras[std::string(kLinkRanks)] = {static_cast<double>(result.ranks), "ranks"};
  save_machine(machine);
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

void print_result(const Result& r) {
  const bool staged = r.timings.back().copy_s > 0;
  std::vector<std::string> titles = {"bytes", "us", "10 to 90 %", "bus GB/s", "plain MPI us", "of plain MPI"};
  if (staged) titles.insert(titles.end(), {"copies us", "MPI us", "total us", "copies hidden"});
  Table table(titles);
  auto us = [](double seconds) { return fixed_or_small(seconds * 1e6); };
  for (const AllReduceTiming& t : r.timings) {
    std::vector<std::string> row = {with_commas(t.bytes),
                                    us(t.seconds.median),
                                    fmt::format("{} to {}", us(t.seconds.p10), us(t.seconds.p90)),
                                    fmt::format("{:.3f}", t.bus_bytes_per_s(r.ranks) / 1e9),
                                    us(t.plain.median),
                                    fmt::format("{:.2f}", t.of_plain())};
    if (staged)
      for (const std::string& cell :
           {us(t.copy_s), us(t.message_s()), us(t.total_s), fmt::format("{:.0f} %", 100 * t.hidden())})
        row.push_back(cell);
    table.row(row);
  }
  print(table.str());
  print(fmt::format(
      "\nAll-reduce of fp32 on {} ranks, {}, by {}: medians of {} and more samples of the slowest rank.\n"
      "Bus: 2(p-1)/p times the bytes over the time. Of plain MPI: its speed, MPI_Allreduce of the host's "
      "memory being 1.\n",
      r.ranks, r.device, r.communicator, r.timings.back().seconds.samples));
  std::vector<Sampled> medians;
  for (const AllReduceTiming& t : r.timings) medians.insert(medians.end(), {t.seconds, t.plain});
  print(sampling_note(medians));
  if (staged)
    print(
        "Copies: both directions as if nothing overlapped. Total: copies and messages, from first to "
        "last.\n");
  print(fmt::format("Link: {} and {} between {} ranks", human_seconds(r.latency_s()),
                    si(r.bytes_per_s(), "B/s"), r.ranks));
  if (!r.kept.empty())
    print(fmt::format(", kept with the machine '{}'.\n", r.kept));
  else
    print(r.tells_bandwidth() ? ". Not kept: run headroom roofline first, then this again.\n"
                              : ". Not kept: sums of less than 1 MB tell of latency alone.\n");
}

void run(Request& r) {
  if (r.most < kLeastAllReduce || r.most > std::int64_t{1} << 34)
    reject("--most is {}; it must lie between {} and 16 GiB", r.most, kLeastAllReduce);
  if (!launched_as_one_of_several())
    reject(Hint{"start it on several: mpirun -n 2 headroom bench allreduce"},
           "an all-reduce among one rank is nothing to time");
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
      if (ranks.first()) progress.update(0, 0, size);
    };
    result.timings =
        bench_all_reduce(communicator, world.communicator(), gpu ? device.get() : nullptr, r.most, say);
  }
  if (!ranks.first()) return;
  result.kept = keep(result, device->kind());
  if (r.common.json) return print_json(to_json(result));
  print_result(result);
}

}  // namespace

void add_bench_allreduce(Command verb) {
  auto r = std::make_shared<Request>();
  Command all = verb.verb("allreduce", "sums among ranks, 512 B to 256 MB, beside plain MPI; under mpirun");
  add_json(all, r->common);
  all.option("--device", r->common.device, "whose memory: cpu or cuda");
  all.option("--most", r->most, "the largest size, in bytes");
  all.flag("--nccl,!--no-nccl", r->parallel.nccl,
           "GPUs of several ranks: by NCCL where each has one, or through MPI");
  all.example("mpirun -n 2 headroom bench allreduce");
  all.runs_on_ranks([r] { run(*r); });
}

}  // namespace headroom::cli
