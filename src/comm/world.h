#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace headroom {

// All processes that were started together. MPI is looked for, and started, only where a launcher (mpirun,
// srun) has said that there are several: the program alone never loads it.
class World {
 public:
  // Starts MPI if this process has companions; call once, from the main thread.
  static World& instance();

  Communicator& communicator();  // of all, on the host: self where there is nobody else
  int rank() const;
  int size() const;
  int local_rank() const;  // among those on the same host
  int local_size() const;

  // For buffers of a GPU: NCCL where every rank of `within` has a GPU of its own and the library is here (and
  // `allow_nccl`), else MPI through pinned memory, or directly where MPI says that it can.
  std::unique_ptr<Communicator> for_device(Device& device, Communicator& within, bool allow_nccl);

  // Every rank's text, on all ranks.
  std::vector<std::string> gather(const std::string& text);

  // Ends all ranks at once with this exit code, whatever they are doing. Returns where there is nobody else.
  void abort(int code);
  // Ends MPI; all ranks call it, or none. Not called after abort.
  void finish();
};

// Was this process started as one of several? Reads the environment of Open MPI's and Slurm's launchers.
bool launched_as_one_of_several();

}  // namespace headroom
