#pragma once

// Communicators for the memory of a GPU, in a build with CUDA.

#include <memory>
#include <string>

#include "comm/mpi_communicator.h"

namespace headroom {

// By NCCL where it is allowed and here and every rank has a GPU of its own; else over the link. All ranks of
// `within` call it.
std::unique_ptr<Communicator> make_cuda_communicator(Device& gpu, MpiCommunicator& within, bool allow_nccl);

// Over the link, which is given either the GPU's memory itself or chunks that pass through pinned memory of
// the host.
std::unique_ptr<Communicator> make_staged_communicator(Device& gpu, std::shared_ptr<Progress> progress,
                                                       std::shared_ptr<Link> link);

// Empty where NCCL can be used.
std::string why_no_nccl();
// The ranks of `within`, which tells them how to find each other and is not needed afterwards.
std::unique_ptr<Communicator> make_nccl_communicator(Device& gpu, Communicator& within);

}  // namespace headroom
