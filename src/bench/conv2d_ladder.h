#pragma once

#include "bench/ladder.h"

namespace headroom {

// Which of the three products of a convolution a ladder climbs.
enum class Conv2dPass { forward, grad_input, grad_weight };
std::string_view name_of(Conv2dPass pass);
std::string_view operator_name(Conv2dPass pass);

// The rungs of convolutions: those of CPUs, then those of GPUs.
const Ladder& conv2d_ladder(Conv2dPass pass);
// A rung that takes tensors in fp16 climbs the same layer in that type: its name.
inline constexpr std::string_view kHalfRung = "cuda:half_storage";

// One layer: stride, padding and window are the same in both directions.
struct Conv2dSize {
  std::string name;  // "conv1"; empty: its shape
  std::int64_t batch = 1, channels = 1, height = 1, width = 1, maps = 1, kernel = 1;
  std::int64_t stride = 1, padding = 0, groups = 1;
};
// Rejects sizes below 1, groups that do not divide, and a window larger than the padded image; texts name the
// settings `batch`, `channels`, ….
void require_conv2d_size(const Conv2dSize& size);
// The same of one number.
void require_conv2d_count(const char* name, std::int64_t value, std::int64_t least = 1);
LadderProblem conv2d_ladder_problem(const Conv2dSize& size, Conv2dPass pass, DType dtype);

// The layers of a workload: "ece408", both convolutions of the course's network with this many images; "L1"
// to "L5", a layer of the convnet benchmarks each, with a batch of 128 (0: the workload's own number).
std::vector<std::string> conv2d_workloads();
std::vector<Conv2dSize> conv2d_workload(const std::string& name, std::int64_t images);

// The rungs that one of these passes has, for checking names.
Ladder conv2d_rungs_of(const std::vector<Conv2dPass>& passes);
// Of these names, those that a pass has a rung for.
std::vector<std::string> conv2d_rungs_in(Conv2dPass pass, const std::vector<std::string>& names);

LadderRun climb_conv2d(Device& device, const Machine& machine, const Conv2dSize& size, Conv2dPass pass,
                       DType dtype, LadderOptions options);

// Block sizes and coarsenings of the unrolled kernel with constant filters, each a rung of its own; one that
// the kernel refuses is left out with its reason.
struct Conv2dSweep {
  std::vector<std::int64_t> blocks = {8, 16, 28, 32}, coarsens = {1, 2, 4};
};
inline constexpr std::string_view kSweptKernel = "cuda:constant_unrolled";
LadderRun sweep_conv2d(Device& device, const Machine& machine, const Conv2dSize& size,
                       const Conv2dSweep& sweep, LadderOptions options);

}  // namespace headroom
