#pragma once

#include <functional>
#include <memory>

#include "comm/link.h"
#include "comm/progress.h"

namespace headroom {

// The communicator of the host's memory over a link. What the progress thread touches is shared with it, so a
// communicator may go while an operation is on its way.
class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(std::shared_ptr<Progress> progress, std::shared_ptr<Link> link);
  ~MpiCommunicator() override;
  int rank() const override;
  int size() const override;
  std::string_view kind() const override { return "mpi"; }
  Ticket start(const Collective& collective) override;
  void wait(Ticket ticket) override { progress_->wait(ticket); }
  std::unique_ptr<Communicator> split(int colour) override;
  Traffic traffic() const override;

  // So many calls of the link itself, one after the other on its thread, past our queue: what our own way of
  // calling it is held against. Every rank calls it.
  double plain_seconds(const Collective& collective, int calls);

  const std::shared_ptr<Progress>& progress() const { return progress_; }
  const std::shared_ptr<Link>& link() const;

 private:
  class Host;
  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Host> host_;
};

// Rejects what no rank could do: a root that is not there, fewer than no elements.
void require_valid(const Collective& collective, int size);

}  // namespace headroom
