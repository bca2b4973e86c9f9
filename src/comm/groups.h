#pragma once

#include <string_view>
#include <vector>

#include "comm/communicator.h"

namespace headroom {

// How the ranks of a run share its work: every batch is cut into `data_parts`, and within each of these the
// layers that can be cut into `model_parts`.
struct Distribution {
  int data_parts = 1, data_index = 0;
  int model_parts = 1, model_index = 0;
  bool shard_optimizer = false;  // each rank of the data parts keeps a part of the optimizer's state
  bool sync_norms = false;       // batch_norm takes the statistics of the whole batch
  int ranks() const { return data_parts * model_parts; }
};

inline constexpr std::string_view kDataGroup = "data", kModelGroup = "model";

// The communicators of a distribution: among those who hold the same part of the layers, and among those who
// work on the same part of a batch. Kernels that exchange find them through the capabilities of a plan.
class Groups {
 public:
  // `world`: all ranks, for memory of the host; rank = data_index * model_parts + model_index.
  Groups(Distribution distribution, Communicator& world, Communicator& data, Communicator& model)
      : distribution_(distribution), world_(&world), data_(&data), model_(&model) {
    pending_.reserve(kReserved);
    const bool here = (distribution.data_parts == 1 || data.captures()) &&
                      (distribution.model_parts == 1 || model.captures());
    double everywhere = here ? 1 : 0;
    world.all_reduce(&everywhere, 1, Reduction::min);
    captures_ = everywhere > 0;
  }

  const Distribution& distribution() const { return distribution_; }
  Communicator& world() const { return *world_; }
  bool is_first() const { return world_->rank() == 0; }
  Communicator& of(std::string_view group) const { return group == kModelGroup ? *model_ : *data_; }
  int parts(std::string_view group) const {
    return group == kModelGroup ? distribution_.model_parts : distribution_.data_parts;
  }
  // Can a step be captured, on every rank?
  bool captures() const { return captures_; }

  // Begins an exchange that finish(key) waits for; a key may stand for several.
  void start(std::string_view group, const Collective& collective, const void* key);
  void finish(const void* key);
  void run(std::string_view group, const Collective& collective);

  // Of this rank: how long its main thread stood and waited for others' data.
  double exposed_seconds() const { return exposed_; }
  // Of all communicators.
  Traffic traffic() const;

 private:
  static constexpr std::size_t kReserved = 4096;
  struct Pending {
    const void* key;
    Communicator* ranks;
    Communicator::Ticket ticket;
    Device* device;
  };
  Communicator::Ticket begin(Communicator& ranks, const Collective& collective);
  void wait(const Pending& pending);

  Distribution distribution_;
  Communicator *world_, *data_, *model_;
  std::vector<Pending> pending_;
  bool captures_ = false;
  double exposed_ = 0;
};

}  // namespace headroom
