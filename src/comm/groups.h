#pragma once

#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "comm/distribution.h"

namespace headroom {

// The communicators of a distribution: one among ranks that hold the same part of the layers, one among ranks
// that work on the same part of a batch. Kernels that exchange data find them in their launch context.
class Groups {
 public:
  // `world`: all ranks, for host memory; rank = data_index * model_parts + model_index.
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
  int parts(std::string_view group) const { return distribution_.parts(group); }
  // True if every rank can capture a step.
  bool captures() const { return captures_; }

  // Starts an exchange; finish(key) waits for it. Several exchanges may share a key.
  void start(std::string_view group, const Collective& collective, const void* key);
  void finish(const void* key);
  void run(std::string_view group, const Collective& collective);

  // How long this rank's main thread waited for others' data.
  double exposed_seconds() const { return exposed_; }
  // The sum over all communicators.
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
