#include "ops/reduce/cuda/stage_plan.h"

#include <algorithm>

#include "ops/reduce/passes.h"

namespace headroom {
namespace {

using cuda::ReduceStage;
using Way = ReduceStage::Way;

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Several blocks for each multiprocessor of the largest GPUs; more parts than that only make partial results.
constexpr std::int64_t kBlocks = 1024;
constexpr std::int64_t kLeastElements = 4096;  // of a block

ReduceStage stage_of(const Pass& pass) {
  ReduceStage s{.outer = pass.outer, .length = pass.length, .inner = pass.inner};
  if (s.inner == 1) {
    s.way = s.length <= 64 ? Way::short_rows : s.length <= 1024 ? Way::rows : Way::long_rows;
    if (s.way == Way::long_rows)
      s.parts = std::clamp(kBlocks / s.outer, std::int64_t{1}, over(s.length, kLeastElements));
  } else if (s.length <= 16 || (s.length * s.inner <= 1024 && s.outer >= kBlocks)) {
    s.way = Way::serial;
  } else if (s.inner <= 128) {
    s.way = Way::narrow;
    s.parts = std::clamp(kBlocks / s.outer, std::int64_t{1}, over(s.length * s.inner, kLeastElements));
    s.parts = std::min(s.parts, s.length);
  } else {
    s.way = Way::tiles;
    s.parts = std::clamp(2 * kBlocks / (s.outer * over(s.inner, 32)), std::int64_t{1}, over(s.length, 64));
  }
  return s;
}

}  // namespace

std::vector<ReduceStage> stages_of(const ReduceProblem& problem) {
  std::vector<Pass> passes = passes_of(problem);
  if (passes.empty()) passes.push_back({.outer = problem.input.numel()});  // axes of one element: a copy
  std::vector<ReduceStage> stages;
  for (const Pass& pass : passes) {
    stages.push_back(stage_of(pass));
    while (stages.back().parts > 1) {
      const ReduceStage& s = stages.back();
      stages.push_back(stage_of({.outer = s.outer, .length = s.parts, .inner = s.inner}));
    }
  }
  return stages;
}

std::int64_t between_stages(const std::vector<ReduceStage>& stages) {
  std::int64_t elements = 0;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) elements += stages[i].results();
  return elements;
}

}  // namespace headroom
