#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/command.h"
#include "cli/options.h"
#include "comm/groups.h"
#include "data/dataset.h"

namespace headroom::cli {

// How a run under mpirun shares its work.
struct ParallelOptions {
  std::string parallel;        // data, model, hybrid:AxB; empty: data, under mpirun
  std::string shard = "read";  // every rank reads the data, or the first for all
  bool shard_optimizer = false, sync_bn = false, nccl = true;
};
void add_parallel_options(Command verb, ParallelOptions& options);

// The ranks of this run; only this process without mpirun.
class RankRun {
 public:
  // Starts MPI if there are several, and assigns this rank its GPU and its cores.
  RankRun(const ParallelOptions& options, Common& common);

  bool several() const { return size_ > 1; }
  bool first() const { return rank_ == 0; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  const Distribution& distribution() const { return distribution_; }

  // Runs setup that may fail on some ranks only, before the first exchange. If it does, the first rank
  // reports it and all end.
  void agree(const std::function<void()>& setup) const;
  // All ranks must pass the same text; if not, the message names `what`.
  void require_same(std::string_view what, const std::string& text) const;
  // Every rank reads, or the first reads for all.
  Dataset load(const std::function<Dataset()>& read) const;
  // For exchanges of this device's memory; null with a single process.
  Groups* groups(Device& device);

 private:
  ParallelOptions options_;
  Distribution distribution_;
  int rank_ = 0, size_ = 1;
  std::unique_ptr<Communicator> host_data_, host_model_, data_, model_;
  std::unique_ptr<Groups> groups_;
};

bool ranks_started();  // MPI is running: exit needs World::finish, or abort

}  // namespace headroom::cli
