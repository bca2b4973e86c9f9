#pragma once

#include <span>
#include <vector>

#include "bench/gemm_ladder.h"
#include "bench/published_perceptron.h"

namespace headroom {

// Published times of the perceptron course's products on GPUs, by rung; empty for other sizes and types.
std::vector<PublishedRung> published_gemms(const GemmSize& size, DType dtype);
std::span<const PublishedSource> published_gemm_sources();

}  // namespace headroom
