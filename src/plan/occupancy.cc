#include "plan/occupancy.h"

#include <algorithm>
#include <bit>

namespace headroom {
namespace {

// Visits the smallest set of nodes that together cover the steps [first, last].
template <class Action>
void for_parts(std::size_t steps, std::size_t first, std::size_t last, Action&& action) {
  std::size_t left = steps + first, right = steps + last + 1;
  for (; left < right; left /= 2, right /= 2) {
    if (left % 2 == 1) action(left++);
    if (right % 2 == 1) action(--right);
  }
}

// Visits all nodes that contain the first or the last step.
template <class Action>
void for_ends(std::size_t steps, std::size_t first, std::size_t last, Action&& action) {
  std::size_t left = steps + first, right = steps + last;
  for (; left != right; left /= 2, right /= 2) action(left), action(right);
  for (; left > 0; left /= 2) action(left);
}

}  // namespace

void Stretches::add(std::size_t begin, std::size_t end) {
  const auto from = std::lower_bound(list_.begin(), list_.end(), begin,
                                     [](const Stretch& s, std::size_t address) { return s.end < address; });
  auto to = from;
  for (; to != list_.end() && to->begin <= end; ++to) {
    begin = std::min(begin, to->begin);
    end = std::max(end, to->end);
  }
  if (from == to) {
    list_.insert(from, {begin, end});
  } else {
    *from = {begin, end};
    list_.erase(from + 1, to);
  }
}

Stretches::Rest Stretches::after(std::size_t address) const {
  const auto next = std::upper_bound(list_.begin(), list_.end(), address,
                                     [](std::size_t a, const Stretch& s) { return a < s.end; });
  return {list_.data() + (next - list_.begin()), list_.data() + list_.size()};
}

Heights::Heights(std::size_t steps) : nodes_(2 * steps) {}

void Heights::lift(std::size_t node, std::size_t height) {
  Node& n = nodes_[node];
  n.least = std::max(n.least, height);
  n.most = std::max(n.most, height);
  n.pending = std::max(n.pending, height);
}

std::size_t Heights::most(std::size_t first, std::size_t last) {
  return most({1, 0, nodes_.size() / 2 - 1}, first, last);
}

std::size_t Heights::most(Range r, std::size_t first, std::size_t last) {
  if (last < r.first || r.last < first) return 0;
  const Node& n = nodes_[r.node];
  if (first <= r.first && r.last <= last) return n.most;
  const std::size_t middle = (r.first + r.last) / 2;
  return std::max({n.pending, most({2 * r.node, r.first, middle}, first, last),
                   most({2 * r.node + 1, middle + 1, r.last}, first, last)});
}

void Heights::raise(std::size_t first, std::size_t last, std::size_t begin, std::size_t end) {
  raise({1, 0, nodes_.size() / 2 - 1}, first, last, {begin, end});
}

void Heights::raise(Range r, std::size_t first, std::size_t last, Stretch taken) {
  Node& n = nodes_[r.node];
  if (last < r.first || r.last < first || n.most < taken.begin) return;
  if (first <= r.first && r.last <= last && n.least >= taken.begin) return lift(r.node, taken.end);
  const std::size_t low = 2 * r.node, high = low + 1, middle = (r.first + r.last) / 2;
  lift(low, n.pending), lift(high, n.pending);
  n.pending = 0;
  raise({low, r.first, middle}, first, last, taken);
  raise({high, middle + 1, r.last}, first, last, taken);
  n.least = std::min(nodes_[low].least, nodes_[high].least);
  n.most = std::max(nodes_[low].most, nodes_[high].most);
}

Occupancy::Occupancy(int steps)
    : steps_(std::bit_ceil(static_cast<std::size_t>(steps))),
      throughout_(2 * steps_),
      sometimes_(2 * steps_),
      heights_(steps_) {}

// A piece alive at some step of a node is in that node's `sometimes`, or in `throughout` of a node above it.
std::size_t Occupancy::lowest_gap(int first, int last, std::size_t bytes) {
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  std::size_t address = heights_.most(from, to);
  in_the_way_.clear();
  auto look_at = [&](const Stretches& taken) {
    const Stretches::Rest rest = taken.after(address);
    if (rest.next != rest.end) in_the_way_.push_back(rest);
  };
  for_parts(steps_, from, to, [&](std::size_t node) { look_at(sometimes_[node]); });
  for_ends(steps_, from, to, [&](std::size_t node) { look_at(throughout_[node]); });

  // Each in turn moves the address past its own stretches, until all agree.
  for (std::size_t agreed = 0, i = 0; agreed < in_the_way_.size(); ++agreed, ++i) {
    if (i == in_the_way_.size()) i = 0;
    auto& [next, end] = in_the_way_[i];
    while (next != end && next->end <= address) ++next;
    for (; next != end && next->begin < address + bytes; ++next) address = next->end, agreed = 0;
  }
  return address;
}

void Occupancy::take(int first, int last, Stretch taken) {
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
  for_parts(steps_, from, to, [&](std::size_t node) {
    throughout_[node].add(taken.begin, taken.end);
    sometimes_[node].add(taken.begin, taken.end);
  });
  for_ends(steps_, from, to, [&](std::size_t node) { sometimes_[node].add(taken.begin, taken.end); });
  heights_.raise(from, to, taken.begin, taken.end);
}

}  // namespace headroom
