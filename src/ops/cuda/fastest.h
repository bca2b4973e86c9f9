#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/kernel.h"

namespace headroom::cuda {

// Of several ways to compute the same, the fastest: timed on the first launch that is not captured, on the
// tensors of that launch, and kept for the life of the process under `key`, so that every plan of a problem
// computes it in the same way and `ways` is asked once. Ways that fail are passed over. Captured before it is
// known, the first way runs.
Launcher fastest(const std::string& key, const std::function<std::vector<Launcher>()>& ways);

}  // namespace headroom::cuda
