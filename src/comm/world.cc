#include "comm/world.h"

#include "device/name.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#include "base/error.h"
#include "base/text.h"
#include "comm/mpi_communicator.h"
#include "comm/mpi_link.h"
#ifdef HEADROOM_HAS_CUDA
#include "comm/cuda_communicator.h"
#endif

namespace headroom {
namespace {

std::optional<int> number_in(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return std::nullopt;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*end != '\0' || value < 0 || value > 1 << 24) return std::nullopt;
  return static_cast<int>(value);
}

// The number of processes the launcher reports; 1 without a launcher. A Slurm batch script sees the size of
// the job but is one process, so the size of the step counts there.
int launched() {
  for (const char* variable : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"})
    if (const auto size = number_in(variable)) return *size;
  if (!number_in("SLURM_PROCID")) return 1;
  return number_in("SLURM_STEP_NUM_TASKS").value_or(1);
}

#ifdef HEADROOM_HAS_MPI
// Spinning pays only if this rank's two threads have a core each: cores it is bound to, or its share of the
// cores that all ranks of the host use in common.
bool cores_to_spare(int local_size) {
  cpu_set_t mine;
  if (::sched_getaffinity(0, sizeof mine, &mine) != 0) return false;
  const int usable = CPU_COUNT(&mine), all = static_cast<int>(std::thread::hardware_concurrency());
  return usable >= 2 * (usable < all ? 1 : local_size);
}
#endif

}  // namespace

bool launched_as_one_of_several() { return launched() > 1; }

int launched_rank() {
  if (!launched_as_one_of_several()) return 0;
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const auto rank = number_in(variable)) return *rank;
  return 0;
}

struct World::State {
  std::unique_ptr<Communicator> all = make_self_communicator();
  std::shared_ptr<Progress> progress;  // null: alone
  int local_rank = 0, local_size = 1;
  bool finished = false;
};

World& World::instance() {
  static World& world = *new World;  // never destroyed: a rank that stops must not wait for the others
  return world;
}

World::World() : state_(std::make_unique<State>()) {
  const int size = launched();
  if (size <= 1) return;
#ifdef HEADROOM_HAS_MPI
  const auto rank_here = number_in("OMPI_COMM_WORLD_LOCAL_RANK"),
             size_here = number_in("OMPI_COMM_WORLD_LOCAL_SIZE");
  auto progress = std::make_shared<Progress>(cores_to_spare(size_here.value_or(size)));
  std::shared_ptr<Link> link;
  LocalRanks local{rank_here.value_or(0), size_here.value_or(1)};
  progress->call([&] {
    mpi_start();
    link = mpi_world_link();
    if (!rank_here || !size_here) local = mpi_local_ranks();
  });
  if (link->size() != size)
    throw Error(
        Blame::run,
        fmt::format("the launcher started {} processes, but MPI sees {}: they use different MPI libraries",
                    size, link->size()),
        Hint{"start with the mpirun of Open MPI (package openmpi-bin)"});
  state_->progress = progress;
  state_->all = std::make_unique<MpiCommunicator>(progress, link);
  state_->local_rank = local.rank;
  state_->local_size = local.size;
#else
  throw Error(Blame::run,
              fmt::format("started as one of {} processes, but this program was built without MPI", size),
              Hint{"install libopenmpi-dev and build again, or start it without mpirun"});
#endif
}

Communicator& World::communicator() { return *state_->all; }
int World::rank() const { return state_->all->rank(); }
int World::size() const { return state_->all->size(); }
int World::local_rank() const { return state_->local_rank; }
int World::local_size() const { return state_->local_size; }

std::vector<std::string> World::gather(const std::string& text) {
  const auto mine = static_cast<std::size_t>(rank()), ranks = static_cast<std::size_t>(size());
  std::vector<std::int64_t> lengths(ranks);
  lengths[mine] = static_cast<std::int64_t>(text.size());
  auto exchange = [&](void* data, std::size_t count, DType dtype) {
    communicator().run({.kind = Collective::Kind::all_gather,
                        .data = data,
                        .count = static_cast<std::int64_t>(count),
                        .dtype = dtype});
  };
  exchange(lengths.data(), ranks, DType::i64);
  // Every rank gets as many bytes as the longest text needs: equal parts.
  const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
  std::string bytes(longest * ranks, '\0');
  std::copy(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(mine * longest));
  exchange(bytes.data(), bytes.size(), DType::u8);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r)
    texts.push_back(bytes.substr(r * longest, static_cast<std::size_t>(lengths[r])));
  return texts;
}

void World::abort(int code) {
  if (state_->progress == nullptr || state_->finished) return;
#ifdef HEADROOM_HAS_MPI
  // The only call outside the progress thread, which may be waiting for ranks that never come.
  mpi_abort(code);
#endif
  std::_Exit(code);
}

void World::finish() {
  if (state_->progress == nullptr || state_->finished) return;
#ifdef HEADROOM_HAS_MPI
  state_->progress->call(mpi_finish);
#endif
  state_->finished = true;
}

std::unique_ptr<Communicator> World::for_device(Device& device, Communicator& within,
                                                [[maybe_unused]] bool allow_nccl) {
  if (within.size() == 1) return make_self_communicator();
  auto& host = dynamic_cast<MpiCommunicator&>(within);
#ifdef HEADROOM_HAS_CUDA
  if (device.kind() == DeviceKind::cuda) return make_cuda_communicator(device, host, allow_nccl);
#endif
  if (device.kind() != DeviceKind::cpu)
    fail("there is no communicator for the memory of {}", device.capabilities().name);
  return std::make_unique<MpiCommunicator>(host.progress(), host.link());
}

std::string device_for_rank(const std::string& typed, int gpus, int local_rank, int local_size,
                            std::string& warning) {
  const std::string device = device_name(typed);
  if (!device.starts_with("cuda") || gpus < 1) return device;
  if (device != "cuda") {
    if (local_size > 1) warning = fmt::format("{} ranks share {}, as requested", local_size, device);
    return device;
  }
  if (local_size > gpus)
    warning = fmt::format("{} ranks share {} GPU{}: each rank gets only a part of its time", local_size, gpus,
                          gpus == 1 ? "" : "s");
  return fmt::format("cuda:{}", local_rank % gpus);
}

std::string device_for_rank(const std::string& device, int gpus, std::string& warning) {
  const World& world = World::instance();
  return device_for_rank(device, gpus, world.local_rank(), world.local_size(), warning);
}

}  // namespace headroom
