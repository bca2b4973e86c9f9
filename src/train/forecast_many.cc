#include <algorithm>
#include <functional>
#include <map>

#include "base/in_parallel.h"
#include "train/forecast_parts.h"

namespace headroom {
namespace {

// Machines with the same key get the same plan, unless memory is scarce. Our kernels ask a GPU for its
// compute capability and its multiprocessors; the vendor's ask for neither on GPUs that have no other. A
// measured machine is a device that is here, with libraries and tuned variants of its own.
std::string plan_key(const Machine& machine, const Capabilities& device) {
  if (machine.measured) return machine.name;
  if (device.kind == DeviceKind::cpu) return fmt::format("cpu {} {}", device.threads, device.vector_bytes);
  if (vendors_only(device)) return "old gpu";
  return fmt::format("gpu {} {}", device.compute_capability, device.multiprocessors);
}

// Some kernels refuse a workspace beyond an eighth of the memory; half of that leaves no doubt.
constexpr double kSmallWorkspace = 1.0 / 16;

bool plan_depends_on_memory(const Plan& plan, const Machine& machine) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) {
    return double(step.workspace) > kSmallWorkspace * machine.memory().bytes;
  });
}

// An error of one machine must not stop the others.
template <class Act>
void or_why_not(Outlook& outlook, Act&& act) {
  try {
    outlook.forecast = act();
  } catch (const Error& error) {
    outlook.why_not = error;
  }
}

class ManyForecasts {
 public:
  ManyForecasts(const Net& net, std::span<const Machine> machines, bool keep_plans)
      : net_(net), machines_(machines), keep_plans_(keep_plans) {}

  std::vector<Outlook> run(const EngineOptions& options, Mode mode, std::int64_t batch, int threads) {
    for (std::size_t i = 0; i < machines_.size(); ++i) {
      requests_.push_back(reading_request(net_, machines_[i], options, mode, batch, threads));
      groups_[plan_key(machines_[i], requests_[i].target.device)].push_back(i);
    }
    start();
    outlooks_.resize(machines_.size());
    std::vector<const std::vector<std::size_t>*> groups;
    for (const auto& [key, members] : groups_) groups.push_back(&members);
    // The largest first, so that the last ones are short.
    std::ranges::stable_sort(groups, std::greater<>(), [](const auto* members) { return members->size(); });
    in_parallel(groups.size(), [&](std::size_t g) { read_group(*groups[g]); });
    return std::move(outlooks_);
  }

 private:
  // An error here is about the network, whatever the machine.
  void start() {
    std::map<DeviceKind, const BuildRequest*> kinds;
    for (const BuildRequest& request : requests_) kinds.try_emplace(request.target.device.kind, &request);
    for (const auto& [kind, request] : kinds) starts_[kind];  // tasks must not change the map
    const std::vector<std::pair<DeviceKind, const BuildRequest*>> list(kinds.begin(), kinds.end());
    in_parallel(list.size(),
                [&](std::size_t i) { starts_.at(list[i].first) = start_build(net_, *list[i].second); });
  }

  std::shared_ptr<const Built> finish(const BuildRequest& request) const {
    return std::make_shared<const Built>(
        finish_to_read(starts_.at(request.target.device.kind), net_, request));
  }

  void read_group(const std::vector<std::size_t>& members) {
    BuildRequest common = requests_[members.front()];
    if (members.size() > 1) common.target.device.memory_bytes = 0;
    std::shared_ptr<const Built> built;
    for (const std::size_t i : members)
      or_why_not(outlooks_[i], [&] {
        if (!built) built = finish(common);
        const bool own = members.size() > 1 && plan_depends_on_memory(built->plan, machines_[i]);
        Forecast result = read_plan(own ? finish(requests_[i]) : built, machines_[i]);
        if (!keep_plans_) result.built.reset();
        return result;
      });
  }

  const Net& net_;
  std::span<const Machine> machines_;
  bool keep_plans_;
  std::vector<BuildRequest> requests_;
  std::map<std::string, std::vector<std::size_t>> groups_;  // by plan_key
  std::map<DeviceKind, BuildStart> starts_;
  std::vector<Outlook> outlooks_;
};

}  // namespace

std::vector<Outlook> forecast_many(const Net& net, std::span<const Machine> machines,
                                   const EngineOptions& options, Mode mode, std::int64_t batch, int threads,
                                   bool keep_plans) {
  return ManyForecasts(net, machines, keep_plans).run(options, mode, batch, threads);
}

}  // namespace headroom
