#include "ops/unary/cuda_map.cuh"

namespace headroom::cuda {

template void run_unary<1>(std::size_t form, const UnaryCall& call);

}  // namespace headroom::cuda
