#pragma once

#include "report/record.h"

namespace headroom::testing {

// A made-up record of two kernels on a GPU with 64 warps per multiprocessor: a product that uses its lanes
// well, run for two layers, and a gather that uses few of its lanes. The numbers fit each other: 132
// multiprocessors, the seed set in passes 1 and 2, the operations in pass 3.
inline RunRecord gpu_counted_record() {
  RunRecord r;
  r.machine = Machine{};
  r.machine->compute_capability = 90;
  r.plan = RecordedPlan{};
  r.plan->device = "H200";
  r.plan->steps = {
      {.layer = "a", .op = "linear", .kernel = "cuda:tiles", .charges = {{"a", Phase::forward, 1.0}}},
      {.layer = "b",
       .op = "linear",
       .kernel = "cuda:tiles",
       .charges = {{"a", Phase::forward, 0.25}, {"b", Phase::forward, 0.75}}},
      {.layer = "b", .op = "gather", .kernel = "cuda:rows", .charges = {{"b", Phase::forward, 1.0}}}};
  r.prediction = Prediction{};
  r.prediction->steps = {{.floor_s = 0.9e-3}, {.floor_s = 0.9e-3}, {.floor_s = 0.5e-3}};
  r.measurement = Measurement{};
  r.measurement->source = Measurement::Source::kernel_trace;
  const std::map<std::string, double> product = {{"0:launches", 1},
                                                 {"0:flops", 64e9},
                                                 {"0:bytes", 100e6},
                                                 {"1:time", 1e6},
                                                 {"1:cycles", 2e8},
                                                 {"1:instructions", 6e8},
                                                 {"1:issued", 6.2e8},
                                                 {"1:warp-cycles", 3.2e9},
                                                 {"1:global-loads", 3.1e7},
                                                 {"1:global-stores", 3.1e6},
                                                 {"1:atomics", 0},
                                                 {"1:reductions", 1e3},
                                                 {"1:dram-read", 80e6},
                                                 {"1:dram-write", 30e6},
                                                 {"1:l2-bytes", 900e6},
                                                 {"2:branches", 1e7},
                                                 {"2:divergent-branches", 0},
                                                 {"2:sass-instructions", 6e8},
                                                 {"2:lane-instructions", 19.2e9},
                                                 {"3:fp32-fma", 31.5e9},
                                                 {"3:fp32-add", 0.5e9},
                                                 {"3:fp32-mul", 0.5e9}};
  std::map<std::string, double> gather = product;
  gather["0:flops"] = 0, gather["0:bytes"] = 50e6;
  gather["1:instructions"] = 1e8, gather["1:issued"] = 1.1e8, gather["1:warp-cycles"] = 9.6e9;
  gather["1:global-loads"] = 3.3e7, gather["1:dram-read"] = 170e6;
  gather["2:sass-instructions"] = 1e8, gather["2:lane-instructions"] = 0.8e9;
  gather["2:divergent-branches"] = 5e6;
  r.measurement->steps = {{.seconds = {1.0e-3}, .counters = product},
                          {.seconds = {1.0e-3}, .counters = product},
                          {.seconds = {1.5e-3}, .counters = gather}};
  r.measurement->run_s = {4e-3};
  return r;
}

}  // namespace headroom::testing
