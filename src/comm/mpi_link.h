#pragma once

// What the rest of the communicators knows of MPI, in a build with it. Every function here is for the
// progress thread alone, but for mpi_abort.

#include <string>

#include "comm/link.h"

namespace headroom {

void mpi_start();
void mpi_finish();
void mpi_abort(int code);

std::unique_ptr<Link> mpi_world_link();
// Ranks on this host: how many, and which of them this is.
struct LocalRanks {
  int rank = 0, size = 1;
};
LocalRanks mpi_local_ranks();

}  // namespace headroom
