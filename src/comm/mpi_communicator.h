#pragma once

#include <functional>
#include <memory>

#include "comm/link.h"
#include "comm/progress.h"

namespace headroom {

// The communicator for host memory over a link. It shares with the progress thread what that thread uses, so
// a communicator may be destroyed while an operation is in flight.
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

  // Makes this many calls of the link itself, one after another on its thread, without our queue. It is the
  // baseline for our own calls. Every rank calls it.
  double plain_seconds(const Collective& collective, int calls);

  const std::shared_ptr<Progress>& progress() const { return progress_; }
  const std::shared_ptr<Link>& link() const;

 private:
  class Host;
  std::shared_ptr<Progress> progress_;
  std::shared_ptr<Host> host_;
};

// Rejects what no rank could do: a root outside the group, a negative count.
void require_valid(const Collective& collective, int size);

}  // namespace headroom
