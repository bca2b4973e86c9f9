#pragma once

#include "base/json.h"
#include "bench/convnets.h"
#include "cli/command.h"

namespace headroom::cli {

// The parts of the verb bench that have files of their own.
void require_rounds(int rounds);
void add_bench_nets(Command verb);
void add_bench_allreduce(Command verb);
void add_bench_perceptron(Command verb);

// Networks and layers of the convnet benchmarks, beside what others printed of them.
Json convnets_json(const std::vector<ConvnetTiming>& timings);
void print_convnets(const std::vector<ConvnetTiming>& timings, const Machine& machine,
                    const std::string& precision);

}  // namespace headroom::cli
