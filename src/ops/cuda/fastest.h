#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/kernel.h"

namespace headroom::cuda {

struct Way {
  std::string name;
  Launcher run;
};

// Of several ways to compute the same, the fastest: timed on the first launch that is not captured, on the
// tensors of that launch, and kept for the life of the process under `key`, so that every plan of a problem
// computes it in the same way and `ways` is asked once. Ways that fail are passed over. Captured before it is
// known, the first way runs. Where the environment's HEADROOM_TIMED_WAYS names a file, every race adds a line
// to it: the key, then each way's name and milliseconds, the winner first. HEADROOM_WAY=n takes the way of
// that number without timing.
Launcher fastest(const std::string& key, const std::function<std::vector<Way>()>& ways);

}  // namespace headroom::cuda
