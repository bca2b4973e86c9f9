#pragma once

#include <string>

#include "machine/machine.h"
#include "plan/plan.h"

namespace headroom {

// Ends of the names of kinds: kernels of one operator differ by precision.
inline constexpr std::string_view kTf32Kind = " tf32", k16bitKind = " 16bit";

// What the time of a step follows from, on one machine. Steps of one kind share constants.
struct StepAmounts {
  std::string kind;    // "cpu:pixel_lanes conv2d": kernel and operator
  std::string family;  // "cpu.gemm"
  // Of the unit that does the products, FLOP/s, and of the smallest memory that holds the bytes, bytes/s, as
  // far as the cores take part: few pieces leave some idle. 0: unknown.
  double flops = 0, peak = 0;
  double bytes = 0, rate = 0;
  double far_rate = 0;         // of the largest memory, where `rate` is that of a cache; else 0
  double m = 0, n = 0, k = 0;  // extents of its product; 0: does not apply
  double launches = 1;
  // Of products on a GPU, for its busiest multiprocessor: terms that it adds up one after another, and values
  // that its blocks bring in for them. 0: does not apply, or is not known.
  double chain = 0, staged = 0;
  std::string level;  // that memory
  // Of its tensors, for what no formula says: lengths of rows, taps of its window, how far it moves, how many
  // values of its first input follow each other in memory, and whether those are channels (1) or not (0).
  struct Geometry {
    double row_in = 1, row_out = 1, taps = 1, stride = 1, inner = 1, channels_last = 0;
  };
  Geometry geometry;
};
StepAmounts amounts_of(const Step& step, const Machine& machine, const Target& target);

struct StepConstants {
  double efficiency = 0.5;  // share of the unit's peak that long products reach
  // Rows, columns and terms of a product at which half of that is left.
  double half_m = 4, half_n = 4, half_k = 4;
  double memory_share = 0.5;  // share of the rate of the largest memory
  double cache_share = 0.5;   // the same of caches, which are never slower than that
  double start_s = 1e-6;      // of a launch
  double chain_s = 0;         // of a term of a chain, however few values a block has
  double stage_s = 0;         // of a value that a block brings in
};
// The parts of a step's time. The whole is a smooth maximum of the first two, plus the others.
struct StepTimeParts {
  double compute = 0, memory = 0, start = 0;
  double latency = 0;  // of chains, and of what is brought in for them
  double busy() const;
  double seconds() const { return busy() + start; }
};
StepTimeParts parts_of(const StepAmounts& amounts, const StepConstants& constants);
// What takes most of it: "compute", "launch", or the level of memory.
std::string bound_of(const StepTimeParts& parts, const StepAmounts& amounts);

}  // namespace headroom
