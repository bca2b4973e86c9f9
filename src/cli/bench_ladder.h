#pragma once

#include <span>
#include <string>

#include "bench/ladder.h"
#include "bench/published_perceptron.h"
#include "cli/bench_output.h"

namespace headroom::cli {

// The tables of one climb, for every verb that climbs: its rungs, with the notes, the published sources it
// shows and, if asked for, the explanation; then the ideas one on top of the other, and alone.
void add_ladder_tables(const LadderRun& run, DeviceKind device, const std::string& heading,
                       std::span<const PublishedSource> sources, bool explain, BenchOutput& output);

}  // namespace headroom::cli
