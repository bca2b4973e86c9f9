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

 private:
  World();
  struct State;
  std::unique_ptr<State> state_;
};

// Was this process started as one of several? Reads the environment of Open MPI's and Slurm's launchers.
bool launched_as_one_of_several();
int launched_rank();  // by the same environment; 0 alone

// The GPU of this rank: "cuda" becomes that of its number on this host, one after the other; names that say
// more stay as they are. `warning` is filled where ranks share a GPU.
std::string device_for_rank(const std::string& device, int gpus, int local_rank, int local_size,
                            std::string& warning);
std::string device_for_rank(const std::string& device, int gpus, std::string& warning);

// Of this build: "Open MPI 4.1.4" by asking the library, without starting it; else why not.
struct MpiSurvey {
  std::string version, why_not, try_this;
};
MpiSurvey survey_mpi();

}  // namespace headroom
