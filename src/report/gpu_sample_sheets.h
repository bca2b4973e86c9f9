#pragma once

#include "profile/gpm.h"
#include "profile/gpu_sampling.h"
#include "report/chart.h"
#include "report/record.h"

namespace headroom {

// The counters of a GPU over time, as tables of a record.

inline constexpr std::string_view kSampledLayers = "sampled_layers", kSampledStep = "sampled_step",
                                  kGpuUse = "gpu_use";
const Sheet* find_table(const RunRecord& record, std::string_view name);  // null: the record has none

Sheet sampled_layers_sheet(const SampledStep& step);
Sheet sampled_step_sheet(const SampledStep& step);  // the use of each part over one run
LineChart sampled_step_chart(const Sheet& sheet);   // of such a sheet

// What NVML says of the whole step, beside what the plan's amounts make of its time on the record's machine.
Sheet gpu_use_sheet(const GpmUse& use, double step_s, const RunRecord& record);

}  // namespace headroom
