#pragma once

#include <cstddef>

#include "ops/operator.h"

namespace headroom {

// tally(loss[1], correct[1]?, sums[kTallyFields]; count) -> sums', in place: adds one step to the sums that a
// run is reported by, so that no step need wait for the host to read its loss. Fields in fp64.
enum TallyField : std::size_t {
  kTallyLoss,     // sum of loss times count
  kTallyCorrect,  // sum of correct
  kTallySteps,
  kTallyFirstLoss,  // of the first step since the sums were cleared
  kTallyLastLoss,
  kTallyBadStep,  // number, from 1, of the first step whose loss was not finite; 0: none
  kTallyBadLoss,  // that loss
  kTallyFields = 8
};

std::vector<Operator> tally_operators();

Launcher prepare_tally_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
