// How the devices that share a calibration speak for another one.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "timing/calibration.h"

namespace headroom {
namespace {

constexpr double kGenerationWeight = 1;  // a member one generation off counts exp(-1)

// The place of a compute capability in the order of generations.
int generation(int compute_capability) {
  constexpr int kCapabilities[] = {30, 35, 37, 50, 52, 60, 61, 70, 75, 80, 86, 89, 90, 100, 103, 120};
  const auto at = std::lower_bound(std::begin(kCapabilities), std::end(kCapabilities), compute_capability);
  return static_cast<int>(at - std::begin(kCapabilities));
}

int generations_apart(const FormCalibration::Member& member, const Machine& machine) {
  return std::abs(generation(member.compute_capability) - generation(machine.compute_capability));
}

// Libraries choose anew for each major version; before that the older of two neighbours tells more.
int choice_distance(const FormCalibration::Member& member, const Machine& machine) {
  const int a = member.compute_capability, b = machine.compute_capability;
  return 1000 * std::abs(a / 10 - b / 10) + 10 * std::abs(a % 10 - b % 10) + (a > b ? 1 : 0);
}

}  // namespace

double FormCalibration::seconds(const PreparedRow& row, const Machine& machine) const {
  if (members.size() == 1) return fastest(row, members.front().constants).seconds;
  double sum = 0, weights = 0;
  for (const Member& member : members) {
    const double weight = std::exp(-kGenerationWeight * generations_apart(member, machine));
    sum += weight * std::log(fastest(row, member.constants).seconds);
    weights += weight;
  }
  return std::exp(sum / weights);
}

std::size_t FormCalibration::nearest_member(const Machine& machine) const {
  const auto nearest = std::ranges::min_element(
      members, {}, [&](const Member& member) { return choice_distance(member, machine); });
  return static_cast<std::size_t>(nearest - members.begin());
}

Traits FormCalibration::traits_for(const Machine& machine) const {
  const Member& nearest = members[nearest_member(machine)];
  return nearest.compute_capability == machine.compute_capability ? nearest.traits : Traits{};
}

}  // namespace headroom
