#include "cli/ranks.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/shares.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/signals.h"
#include "comm/world.h"
#include "data/broadcast.h"

namespace headroom::cli {
namespace {

bool started = false;

int part_count(const std::string& text, const std::string& what) {
  constexpr std::int64_t kMax = 4096;
  const std::int64_t count = parse_int(text, what);
  if (count < 1 || count > kMax) reject("{} are {}; they must lie between 1 and {}", what, count, kMax);
  return static_cast<int>(count);
}

Distribution parse_parallel(const ParallelOptions& o, int rank, int size) {
  Distribution d;
  const std::string kind = o.parallel.empty() ? "data" : o.parallel;
  if (kind == "data") {
    d.data_parts = size;
  } else if (kind == "model") {
    d.model_parts = size;
  } else if (kind.starts_with("hybrid:")) {
    const auto parts = split(std::string_view(kind).substr(7), 'x');
    if (parts.size() != 2)
      reject(Hint{"write hybrid:2x2: parts of the batch, times parts of the layers"},
             "--parallel '{}' does not name two numbers of ranks", kind);
    d.data_parts = part_count(parts[0], "--parallel: the parts of the batch");
    d.model_parts = part_count(parts[1], "--parallel: the parts of the layers");
    if (d.data_parts * d.model_parts != size)
      reject(Hint{fmt::format("start it with mpirun -n {}", d.data_parts * d.model_parts)},
             "--parallel {} needs {}, but {} started", kind, counted(d.data_parts * d.model_parts, "rank"),
             size == 1 ? "only one was" : fmt::format("{} were", size));
  } else {
    reject(nearest(kind, std::vector<std::string>{"data", "model", "hybrid:2x2"}),
           "--parallel: unknown way to split the work '{}'", kind);
  }
  d.data_index = rank / d.model_parts;
  d.model_index = rank % d.model_parts;
  d.shard_optimizer = o.shard_optimizer && d.data_parts > 1;
  d.sync_norms = o.sync_bn && d.data_parts > 1;
  if (o.shard_optimizer && d.model_parts > 1)
    reject(Hint{"take --parallel data"}, "--shard-optimizer needs ranks that split only the batch");
  return d;
}

// The first difference between two lists of what=value.
std::string difference(const std::string& there, const std::string& here) {
  const auto theirs = split(there, ';'), ours = split(here, ';');
  for (std::size_t i = 0; i < std::min(theirs.size(), ours.size()); ++i)
    if (theirs[i] != ours[i]) return fmt::format("{}, not {}", theirs[i], ours[i]);
  return fmt::format("{}, not {}", there, here);
}

int number_in(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

// By default mpirun binds a rank to one or two cores. That is too few for a team of threads and the exchange
// thread, so the rank takes its share of all cores. Call before MPI starts a thread. Users of other launchers
// set the cores per rank.
void take_cores(int threads) {
  const int local_rank = number_in("OMPI_COMM_WORLD_LOCAL_RANK", 0),
            local_size = number_in("OMPI_COMM_WORLD_LOCAL_SIZE", 0);
  cpu_set_t mine;
  if (local_size < 1 || ::sched_getaffinity(0, sizeof mine, &mine) != 0) return;
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const Share part = share_of(all, local_size, local_rank);
  if (part.count == 0 || CPU_COUNT(&mine) >= std::max<std::int64_t>(threads, part.count)) return;
  cpu_set_t wider;
  CPU_ZERO(&wider);
  for (std::int64_t i = 0; i < part.count; ++i) CPU_SET(static_cast<std::size_t>(part.first + i), &wider);
  ::sched_setaffinity(0, sizeof wider, &wider);  // stays as it was if not permitted
}

// The host's cores divided by its ranks, but no more than this rank may use.
int threads_of_a_rank(int local_size) {
  const int all = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t mine;
  const int own = ::sched_getaffinity(0, sizeof mine, &mine) == 0 ? CPU_COUNT(&mine) : all;
  return std::max(1, std::min(own, all / local_size));
}

// A launcher may show each rank only its own GPU, which has index 0 there.
bool each_sees_its_own() {
  const char* own = std::getenv("CUDA_VISIBLE_DEVICES");
  std::vector<std::string> all = World::instance().gather(own == nullptr ? "" : own);
  std::ranges::sort(all);
  return !all[0].empty() && std::ranges::adjacent_find(all) == all.end();
}

}  // namespace

void add_parallel_options(Command verb, ParallelOptions& o) {
  verb.option("--parallel", o.parallel,
              "under mpirun: data splits every batch, model splits the linear layers, hybrid:2x2 does both");
  verb.option("--shard", o.shard,
              "under mpirun: every rank reads the data (read), or the first rank reads for all (scatter)");
  verb.flag("--shard-optimizer", o.shard_optimizer,
            "under mpirun: each rank keeps a part of the optimizer's state");
  verb.flag("--sync-bn", o.sync_bn, "under mpirun: batch_norm uses the statistics of the whole batch");
  verb.flag("--nccl,!--no-nccl", o.nccl, "exchange between GPUs by NCCL if each rank has its own, or by MPI");
}

bool ranks_started() { return started; }

RankRun::RankRun(const ParallelOptions& options, Common& common) : options_(options) {
  if (options.shard != "read" && options.shard != "scatter")
    reject(nearest(options.shard, std::vector<std::string>{"read", "scatter"}),
           "--shard is '{}'; it is read or scatter", options.shard);
  if (!launched_as_one_of_several()) {
    if (options.parallel.empty()) return;
    parse_parallel(options, 0, 1);
    note(fmt::format("headroom: --parallel {} has no effect with one process; start it with mpirun -n 2\n",
                     options.parallel));
    return;
  }
  take_cores(common.threads);
  World& world = World::instance();
  started = true;
  common.one_of_several = true;
  rank_ = world.rank(), size_ = world.size();
  agree([&] { distribution_ = parse_parallel(options, rank_, size_); });
  std::string warning;
  common.device = device_for_rank(common.device, static_cast<int>(survey_gpus().gpus.size()), warning);
  const bool own_gpus = each_sees_its_own();  // all ranks take part, with or without a warning
  if (!warning.empty() && !own_gpus) note(fmt::format("headroom: {}\n", warning));
  if (common.threads == 0) common.threads = threads_of_a_rank(world.local_size());
  require_same("build", fmt::format("{} {} {}", version(), commit(), build_type()));
  require_same("way to share the work",
               fmt::format("parallel={};shard={};shard-optimizer={};sync-bn={};nccl={};device={};graph={}",
                           options.parallel, options.shard, options.shard_optimizer, options.sync_bn,
                           options.nccl, common.device.substr(0, common.device.find(':')), common.capture));
}

void RankRun::agree(const std::function<void()>& setup) const {
  if (!several()) return setup();
  std::string problem;
  try {
    setup();
  } catch (const Error& error) {
    problem = fmt::format("{}{}{}{}", error.blame() == Blame::request ? 2 : 1, with_options(error.what()),
                          error.hint().empty() ? "" : "\n  ", with_options(error.hint()));
  }
  const auto problems = World::instance().gather(problem);
  const auto bad = std::ranges::find_if(problems, [](const std::string& p) { return !p.empty(); });
  if (bad == problems.end()) return;
  const bool all = std::ranges::all_of(problems, [&](const std::string& p) { return p == *bad; });
  if (all)
    note(fmt::format("headroom: {}\n", bad->substr(1)));
  else
    for (std::size_t r = 0; r < problems.size(); ++r)
      if (!problems[r].empty()) note(fmt::format("headroom: rank {}: {}\n", r, problems[r].substr(1)));
  World::instance().finish();
  started = false;
  throw Interrupted{bad->front() - '0'};
}

void RankRun::require_same(std::string_view what, const std::string& text) const {
  if (!several()) return;
  const auto texts = World::instance().gather(text);
  agree([&] {
    for (std::size_t r = 1; r < texts.size(); ++r)
      if (texts[r] != texts[0])
        reject(Hint{"every rank needs the same program, options and data"},
               "rank {} has another {} than rank 0: {}", r, what, difference(texts[r], texts[0]));
  });
}

Dataset RankRun::load(const std::function<Dataset()>& read) const {
  if (!several() || options_.shard == "read") return read();
  return broadcast_dataset(World::instance().communicator(), read);
}

Groups* RankRun::groups(Device& device) {
  if (!several()) return nullptr;
  World& world = World::instance();
  // In rank order: ranks that hold the same part of the layers, and ranks that share one part of the batch.
  host_data_ = world.communicator().split(distribution_.model_index);
  host_model_ = world.communicator().split(distribution_.data_index);
  if (device.kind() == DeviceKind::cuda) {
    data_ = world.for_device(device, *host_data_, options_.nccl);
    model_ = world.for_device(device, *host_model_, options_.nccl);
  }
  groups_ = std::make_unique<Groups>(distribution_, world.communicator(), data_ ? *data_ : *host_data_,
                                     model_ ? *model_ : *host_model_);
  return groups_.get();
}

}  // namespace headroom::cli
