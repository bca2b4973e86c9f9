#pragma once

#include "base/json_fwd.h"
#include "bench/convnets.h"
#include "cli/bench_output.h"
#include "cli/command.h"

namespace headroom::cli {

// Parts of the verb bench that have their own files.
void require_rounds(std::int64_t rounds);
void add_bench_nets(Command verb);
void add_bench_allreduce(Command verb);
void add_bench_perceptron(Command verb);
void add_bench_vadd(Command verb);
void add_bench_copy(Command verb);
void add_bench_alloc(Command verb);
void add_bench_switches(Command verb);
void add_bench_work(Command verb);

// Networks and layers of the convnet benchmarks, with the published figures.
Json convnets_json(const std::vector<ConvnetTiming>& timings);
std::vector<Sheet> empty_convnet_sheets(bool whole_nets);  // those of layers alone: only their loops
std::vector<BenchTable> convnets_tables(const std::vector<ConvnetTiming>& timings, const Machine& machine,
                                        const std::string& precision);

}  // namespace headroom::cli
