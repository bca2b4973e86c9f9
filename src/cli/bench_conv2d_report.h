#pragma once

// The tables and charts of bench conv2d beside the ladder's own.

#include <string>
#include <vector>

#include "bench/conv2d_ladder.h"
#include "cli/bench_output.h"
#include "cli/charts.h"

namespace headroom::cli {

struct Conv2dClimb {
  Conv2dSize size;
  Conv2dPass pass;
  LadderRun run;
};

// "conv1-forward": part of a chart's file name.
std::string conv2d_chart_name(const Conv2dSize& size, Conv2dPass pass);

// Rungs and published runs of the course's network, both layers and their sum. Empty where a layer is
// missing.
Sheet course_sheet(const std::vector<Conv2dClimb>& climbs, std::int64_t images);
// The best rung and the published libraries on a layer of the convnet benchmarks.
Sheet published_layer_sheet(const std::vector<Conv2dClimb>& climbs);

// One row for each block size and coarsening, then the same as a map of shades.
BenchTable sweep_table(const LadderRun& run, const Conv2dSweep& sweep);
ChartFile sweep_chart(const LadderRun& run, const Conv2dSize& size, const Conv2dSweep& sweep,
                      const std::string& note);
Json sweep_json(const LadderRun& run);

}  // namespace headroom::cli
