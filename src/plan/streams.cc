#include "plan/streams.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "plan/lifetimes.h"

namespace headroom {
namespace {

constexpr double kMaxBytes = 256.0 * (1 << 20);  // of all tensors and workspaces of a plan

double bytes_of(const Plan& plan) {
  double bytes = 0;
  for (const Step& step : plan.steps) {
    bytes += double(step.workspace);
    for (const TensorType& type : step.problem.outputs) bytes += double(type.bytes());
  }
  return bytes;
}

bool is_backward(const Step& step) { return step.phase == Phase::backward; }
// Adds up what one tensor holds: a launch of few blocks, or of little work for each.
bool only_sums(const Step& step) { return step.problem.inputs.size() == 1; }
bool counts(const Step& step) { return step.kernel != nullptr && step.kernel->shares_counter; }

// True for steps whose outputs no step before the update reads.
std::vector<bool> find_leaves(const Plan& plan, const std::vector<ValueId>& owner) {
  const auto own = [&](ValueId id) { return owner[static_cast<std::size_t>(id)]; };
  std::set<ValueId> read;
  for (const Step& step : plan.steps)
    if (step.phase != Phase::update)
      for (ValueId in : plan.graph.node(step.node).inputs) read.insert(own(in));
  std::vector<bool> leaf;
  for (const Step& step : plan.steps) {
    const auto& outputs = plan.graph.node(step.node).outputs;
    leaf.push_back(
        is_backward(step) && schema_of(step.problem.op).aliases == nullptr &&
        std::none_of(outputs.begin(), outputs.end(), [&](ValueId id) { return read.count(own(id)); }));
  }
  // Launches of kernels that count must not overlap: they all move to the second stream, or none does.
  bool together = true;
  for (std::size_t s = 0; s < leaf.size(); ++s)
    together &= leaf[s] || !is_backward(plan.steps[s]) || !counts(plan.steps[s]);
  for (std::size_t s = 0; s < leaf.size(); ++s) leaf[s] = leaf[s] && (together || !counts(plan.steps[s]));
  return leaf;
}

// True if sums may have a stream of their own: only they count, for launches of kernels that count must not
// overlap.
bool have_third(const Plan& plan, const std::vector<bool>& leaf) {
  if (plan.binding.streams < 3) return false;
  for (std::size_t s = 0; s < leaf.size(); ++s)
    if (leaf[s] && counts(plan.steps[s]) && !only_sums(plan.steps[s])) return false;
  return true;
}

// Reorders the backward steps: each leaf goes directly after the last step that makes one of its inputs. One
// of the leaves after the last step of the path stays on the first stream, which is idle by then.
void reorder(Plan& plan, const std::vector<ValueId>& owner, const std::vector<bool>& leaf) {
  std::vector<std::vector<std::size_t>> behind(plan.steps.size() + 1);  // by 1 + step; 0: before all others
  std::vector<std::size_t> maker(owner.size(), 0);                      // by memory owner: 1 + writing step
  std::size_t last_on_path = 0;                                         // 1 + step
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Node& node = plan.graph.node(plan.steps[s].node);
    for (ValueId id : node.outputs)
      maker[static_cast<std::size_t>(owner[static_cast<std::size_t>(id)])] = s + 1;
    if (!is_backward(plan.steps[s])) continue;
    if (!leaf[s]) {
      last_on_path = s + 1;
      continue;
    }
    std::size_t after = 0;
    for (ValueId id : node.inputs)
      after = std::max(after, maker[static_cast<std::size_t>(owner[static_cast<std::size_t>(id)])]);
    behind[after > 0 && is_backward(plan.steps[after - 1]) ? after : 0].push_back(s);
  }
  std::vector<Step> order;
  bool begun = false;
  const bool third = have_third(plan, leaf);
  const auto take_leaves = [&](std::size_t after) {
    const auto& group = behind[after];
    const auto stays =
        after != last_on_path
            ? group.end()
            : std::find_if(group.begin(), group.end(), [&](std::size_t s) { return !counts(plan.steps[s]); });
    for (auto s = group.begin(); s != group.end(); ++s)
      if (s != stays) {
        plan.steps[*s].stream = third && only_sums(plan.steps[*s]) ? 2 : 1;
        order.push_back(std::move(plan.steps[*s]));
      }
    if (stays != group.end()) order.push_back(std::move(plan.steps[*stays]));
  };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (leaf[s]) continue;
    if (plan.steps[s].phase != Phase::forward && !begun) begun = true, take_leaves(0);
    order.push_back(std::move(plan.steps[s]));
    take_leaves(s + 1);
  }
  if (!begun) take_leaves(0);
  plan.steps = std::move(order);
}

// Updates that need no gradient and touch only their own memory, such as the tally. They can run beside the
// gradients.
void find_early_updates(Plan& plan, const std::vector<ValueId>& owner) {
  const auto own = [&](ValueId id) { return static_cast<std::size_t>(owner[static_cast<std::size_t>(id)]); };
  std::vector<int> users(owner.size(), 0);
  std::vector<bool> late(owner.size(), false);  // written after the forward phase
  for (const Step& step : plan.steps) {
    const Node& node = plan.graph.node(step.node);
    std::set<std::size_t> touched;
    for (ValueId id : node.inputs) touched.insert(own(id));
    for (ValueId id : node.outputs)
      touched.insert(own(id)), late[own(id)] = late[own(id)] || is_backward(step);
    for (std::size_t id : touched) ++users[id];
  }
  for (Step& step : plan.steps) {
    const Node& node = plan.graph.node(step.node);
    const bool early =
        step.phase == Phase::update && step.workspace == 0 && !counts(step) &&
        std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return late[own(id)]; }) &&
        std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
          const Role role = plan.graph.value(owner[static_cast<std::size_t>(id)]).role;
          return users[own(id)] == 1 && (role == Role::scalar || role == Role::state);
        });
    if (early) step.stream = 1;
  }
}

// True if the step uses nothing that the other streams write, and changes nothing that they read.
struct Touched {
  std::set<ValueId> read, made;
};
bool is_apart(const Plan& plan, const Step& step, const Touched& others, const std::vector<ValueId>& owner) {
  const auto own = [&](ValueId id) { return owner[static_cast<std::size_t>(id)]; };
  const Node& node = plan.graph.node(step.node);
  return std::none_of(node.inputs.begin(), node.inputs.end(),
                      [&](ValueId id) { return others.made.count(own(id)); }) &&
         std::none_of(node.outputs.begin(), node.outputs.end(),
                      [&](ValueId id) { return others.read.count(own(id)) || others.made.count(own(id)); });
}

// A gradient on another stream waits for the step before it on the first stream, so that memory that is free
// in list order is really free. An early update waits only for the forward phase. The first update that
// depends on the other streams waits for all of their steps so far.
void set_waits(Plan& plan, const std::vector<ValueId>& owner) {
  int last_first = kNone, last_forward = kNone;
  std::array<int, kMaxStreams> last, waited;
  last.fill(kNone), waited.fill(kNone);
  bool joined = false;
  Touched others;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    Step& step = plan.steps[s];
    if (step.stream != 0) {
      const auto stream = static_cast<std::size_t>(step.stream);
      const int wanted = step.phase == Phase::update ? last_forward : last_first;
      if (wanted > waited[stream]) step.waits = {wanted}, waited[stream] = wanted;
      last[stream] = static_cast<int>(s);
      const Node& node = plan.graph.node(step.node);
      for (ValueId id : node.inputs) others.read.insert(owner[static_cast<std::size_t>(id)]);
      for (ValueId id : node.outputs) others.made.insert(owner[static_cast<std::size_t>(id)]);
      continue;
    }
    if (step.phase == Phase::update && !joined && !is_apart(plan, step, others, owner)) {
      std::ranges::copy_if(last, std::back_inserter(step.waits),
                           [](int of_stream) { return of_stream != kNone; });
      joined = true;
    }
    last_first = static_cast<int>(s);
    if (step.phase == Phase::forward) last_forward = last_first;
  }
}

// False for large tensors, whose kernels fill a GPU, and if a gradient changes in place: the order stays
// then.
bool may_branch(const Plan& plan) {
  return bytes_of(plan) <= kMaxBytes && std::ranges::none_of(plan.steps, [](const Step& step) {
           return is_backward(step) && schema_of(step.problem.op).aliases != nullptr;
         });
}

}  // namespace

std::vector<bool> fits_other_streams(const Plan& plan) {
  if (!may_branch(plan)) return std::vector<bool>(plan.steps.size());
  return find_leaves(plan, homes_of(plan.graph).owner);
}

void use_more_streams(Plan& plan, const std::vector<ValueId>& owner) {
  if (!may_branch(plan)) return;
  reorder(plan, owner, find_leaves(plan, owner));
  find_early_updates(plan, owner);
  set_waits(plan, owner);
}

std::vector<std::size_t> queue_order(const Plan& plan) {
  std::vector<std::size_t> order, held;
  const auto let_go = [&] { order.insert(order.end(), held.begin(), held.end()), held.clear(); };
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    if (plan.steps[s].stream != 0) {
      held.push_back(s);
      continue;
    }
    const bool joins = !plan.steps[s].waits.empty();
    if (joins) let_go();
    order.push_back(s);
    let_go();
  }
  let_go();
  return order;
}

int join_of(const Plan& plan) {
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    if (plan.steps[s].stream == 0 && !plan.steps[s].waits.empty()) return static_cast<int>(s);
  return static_cast<int>(plan.steps.size());
}

}  // namespace headroom
