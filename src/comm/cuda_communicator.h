#pragma once

// Communicators for GPU memory, in a build with CUDA.

#include <memory>
#include <string>

#include "comm/mpi_communicator.h"

namespace headroom {

// Uses NCCL if it is allowed and installed and every rank has its own GPU; otherwise the link. All ranks of
// `within` call it.
std::unique_ptr<Communicator> make_cuda_communicator(Device& gpu, MpiCommunicator& within, bool allow_nccl);

// Uses the link. It gets either the GPU's memory itself, or chunks that pass through pinned host memory.
std::unique_ptr<Communicator> make_staged_communicator(Device& gpu, std::shared_ptr<Progress> progress,
                                                       std::shared_ptr<Link> link);

// Empty if NCCL can be used.
std::string why_no_nccl();
// For the ranks of `within`, which is only needed to connect them.
std::unique_ptr<Communicator> make_nccl_communicator(Device& gpu, Communicator& within);

}  // namespace headroom
