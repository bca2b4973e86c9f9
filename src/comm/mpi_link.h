#pragma once

// All of MPI that the other communicators see, in a build with MPI. Call these functions only on the progress
// thread, except mpi_abort.

#include <string>

#include "comm/link.h"

namespace headroom {

void mpi_start();
void mpi_finish();
void mpi_abort(int code);

std::unique_ptr<Link> mpi_world_link();
// Ranks on this host: their number, and the index of this one.
struct LocalRanks {
  int rank = 0, size = 1;
};
LocalRanks mpi_local_ranks();

}  // namespace headroom
