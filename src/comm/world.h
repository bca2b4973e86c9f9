#pragma once

#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"

namespace headroom {

// All processes started together. MPI is searched for and started only if a launcher (mpirun, srun) reports
// several processes; a single process never loads it.
class World {
 public:
  // Starts MPI if there are other processes; call once, from the main thread.
  static World& instance();

  Communicator& communicator();  // all ranks, host memory; self if there is only one
  int rank() const;
  int size() const;
  int local_rank() const;  // index among the ranks on this host
  int local_size() const;

  // For GPU buffers: NCCL if every rank of `within` has its own GPU, the library is installed and
  // `allow_nccl` is set. Otherwise MPI, through pinned memory, or directly if MPI supports it.
  std::unique_ptr<Communicator> for_device(Device& device, Communicator& within, bool allow_nccl);

  // Every rank's text, on all ranks.
  std::vector<std::string> gather(const std::string& text);

  // Ends all ranks at once with this exit code, in any state. Returns if there are no other ranks.
  void abort(int code);
  // Ends MPI. All ranks call it, or none. Do not call it after abort.
  void finish();

 private:
  World();
  struct State;
  std::unique_ptr<State> state_;
};

// True if this process is one of several, by the environment of Open MPI's and Slurm's launchers.
bool launched_as_one_of_several();
int launched_rank();  // from the same variables; 0 if alone

// The GPU of this rank: "cuda" becomes the GPU of its number on this host, in turn; more specific names stay
// unchanged. Sets `warning` if ranks share a GPU.
std::string device_for_rank(const std::string& device, int gpus, int local_rank, int local_size,
                            std::string& warning);
std::string device_for_rank(const std::string& device, int gpus, std::string& warning);

// For this build: "Open MPI 4.1.4", asked from the library without starting it; otherwise the reason why not.
struct MpiSurvey {
  std::string version, why_not, try_this;
};
MpiSurvey survey_mpi();

}  // namespace headroom
