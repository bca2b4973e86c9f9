#include "train/rank_times.h"

#include <algorithm>
#include <numeric>

#include "ops/all_reduce/all_reduce.h"

namespace headroom {
namespace {

double mean(const std::vector<double>& list) {
  return list.empty() ? 0 : std::accumulate(list.begin(), list.end(), 0.0) / double(list.size());
}

// Gathers the same number of figures from every rank, on all ranks.
std::vector<std::vector<double>> gather(Communicator& world, const std::vector<double>& own) {
  const auto n = own.size(), ranks = static_cast<std::size_t>(world.size());
  std::vector<double> all(n * ranks, 0.0);
  std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(n) * world.rank());
  world.run({.kind = Collective::Kind::all_gather,
             .data = all.data(),
             .count = std::ssize(all),
             .dtype = DType::f64});
  std::vector<std::vector<double>> list;
  for (std::size_t r = 0; r < ranks; ++r)
    list.emplace_back(all.begin() + std::ptrdiff_t(r * n), all.begin() + std::ptrdiff_t((r + 1) * n));
  return list;
}

// Optimizer state spread over ranks: the bytes that other ranks keep.
double state_of_others(const Storage& storage) {
  double bytes = 0;
  for (const std::string& name : storage.names(Role::state))
    if (const auto& part = storage.part(name))
      bytes += double(part->whole.numel() - storage.type(name).shape.numel()) *
               double(size_of(storage.type(name).dtype));
  return bytes;
}

}  // namespace

std::vector<GroupTraffic> traffic_of(const Plan& plan, const Distribution& d) {
  std::vector<GroupTraffic> list;
  for (const auto& [name, ranks] :
       {std::pair(kDataGroup, d.data_parts), std::pair(kModelGroup, d.model_parts)}) {
    GroupTraffic traffic{.group = std::string(name), .ranks = ranks};
    for (const Step& step : plan.steps) {
      const Exchange e = exchange_of(step.problem);
      if (e.group != name || ranks == 1) continue;
      traffic.bytes += e.bytes, traffic.calls += e.calls;
      const auto& in = step.problem.inputs;
      if (std::ranges::all_of(in, [](const TensorType& type) { return type.shape == Shape{1}; }))
        traffic.report_bytes += e.bytes;
      if (step.problem.op == "all_gather" || step.problem.attrs.integer("scatter") != 0)
        traffic.one_way_bytes += e.bytes;
    }
    if (ranks > 1) list.push_back(traffic);
  }
  return list;
}

RanksReport report_ranks(const Engine& engine, const Plan& plan, const TrainResult& result) {
  Groups& groups = *engine.groups();
  RanksReport report{.distribution = groups.distribution(),
                     .planned = traffic_of(plan, groups.distribution()),
                     .saved_bytes = state_of_others(engine.storage()),
                     .transport = std::string(
                         groups.of(groups.distribution().data_parts > 1 ? kDataGroup : kModelGroup).kind())};
  for (const GroupTraffic& traffic : report.planned) report.planned_bytes += traffic.bytes;

  const std::size_t steps = std::min(result.step_seconds.size(), result.waited_seconds.size());
  std::vector<double> compute(steps);
  for (std::size_t i = 0; i < steps; ++i) compute[i] = result.step_seconds[i] - result.waited_seconds[i];
  const double n = std::max<double>(1, double(steps));
  const double exchange = result.exchange_seconds / n;
  report.counted_bytes = result.exchange_bytes / n;
  const auto figures =
      gather(groups.world(), {mean(result.step_seconds), mean(compute), exchange, mean(result.waited_seconds),
                              double(engine.storage().bytes()), double(steps)});
  double least = double(steps);
  for (const auto& f : figures) {
    // Waking up counts as waiting, not as exchange.
    const double exposed = std::min(f[2], f[3]), hidden = f[2] - exposed;
    report.ranks.push_back({.step = f[0],
                            .compute = f[1],
                            .exchange = f[2],
                            .exposed = exposed,
                            .hidden = hidden,
                            .stored_bytes = f[4]});
    least = std::min(least, f[5]);
  }
  compute.resize(static_cast<std::size_t>(least));
  report.timed = !compute.empty();
  if (!report.timed) return report;
  const auto all = gather(groups.world(), compute);
  for (std::size_t i = 0; i < compute.size(); ++i) {
    std::size_t slowest = 0;
    for (std::size_t r = 1; r < all.size(); ++r)
      if (all[r][i] > all[slowest][i]) slowest = r;
    report.ranks[slowest].slowest += 1 / double(compute.size());
  }
  double quickest = 1e300;  // the last rank waits for nobody, so its exchanges take only message time
  for (const RankTimes& r : report.ranks) quickest = std::min(quickest, r.exchange);
  double bus = 0;
  for (const GroupTraffic& t : report.planned)
    bus += (t.ranks - 1.0) / t.ranks * double(2 * t.bytes - t.one_way_bytes);
  report.bus_bytes_per_s = quickest > 0 ? bus / quickest : 0;
  const Traffic traffic = groups.traffic();
  report.copy_seconds = traffic.copy_seconds, report.copy_exposed = traffic.copy_exposed;
  return report;
}

}  // namespace headroom
