#include "comm/mpi_communicator.h"

#include "base/error.h"

namespace headroom {

void require_reducible(const Collective& c) {
  const bool reduces = c.kind == Collective::Kind::all_reduce || c.kind == Collective::Kind::reduce_scatter;
  if (reduces && (is_16bit(c.dtype) || c.dtype == DType::boolean))
    fail("{} of {} through MPI: it cannot add this type; convert to fp32 first", name_of(c.kind),
         name_of(c.dtype));
}

void require_valid(const Collective& c, int size) {
  if (c.count < 0) fail("{} of {} elements", name_of(c.kind), c.count);
  if (c.root < 0 || c.root >= size) fail("{} from rank {} of {}", name_of(c.kind), c.root, size);
}

class MpiCommunicator::Host final : public Progress::Work {
 public:
  explicit Host(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  void perform(const Collective& c, Progress::Clock::time_point since) override {
    link_->perform(c);
    const std::chrono::duration<double> took = Progress::Clock::now() - since;
    const std::lock_guard lock(mutex_);
    Traffic::Line& line = traffic_.of(c.kind);
    ++line.calls;
    line.bytes += c.bytes();
    line.seconds += took.count();
  }

  const std::shared_ptr<Link>& link() const { return link_; }
  Traffic traffic() const {
    const std::lock_guard lock(mutex_);
    return traffic_;
  }

 private:
  std::shared_ptr<Link> link_;
  mutable std::mutex mutex_;
  Traffic traffic_;
};

MpiCommunicator::MpiCommunicator(std::shared_ptr<Progress> progress, std::shared_ptr<Link> link)
    : progress_(std::move(progress)), host_(std::make_shared<Host>(std::move(link))) {}
MpiCommunicator::~MpiCommunicator() = default;

int MpiCommunicator::rank() const { return host_->link()->rank(); }
int MpiCommunicator::size() const { return host_->link()->size(); }
Traffic MpiCommunicator::traffic() const { return host_->traffic(); }
const std::shared_ptr<Link>& MpiCommunicator::link() const { return host_->link(); }

Communicator::Ticket MpiCommunicator::start(const Collective& collective) {
  require_valid(collective, size());
  require_reducible(collective);
  Collective c = collective;
  if (c.device != nullptr && c.device->kind() != DeviceKind::cpu)
    fail("{} of GPU memory through a communicator for host memory", name_of(c.kind));
  c.device = nullptr;
  return progress_->start(host_, c);
}

double MpiCommunicator::plain_seconds(const Collective& collective, int calls) {
  std::chrono::duration<double> took{};
  progress_->call([&] {
    const auto begin = Progress::Clock::now();
    for (int i = 0; i < calls; ++i) link()->perform(collective);
    took = Progress::Clock::now() - begin;
  });
  return took.count();
}

std::unique_ptr<Communicator> MpiCommunicator::split(int colour) {
  std::shared_ptr<Link> part;
  progress_->call([&] { part = link()->split(colour); });
  return std::make_unique<MpiCommunicator>(progress_, part);
}

}  // namespace headroom
