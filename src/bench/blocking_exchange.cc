#include "bench/blocking_exchange.h"

namespace headroom {
namespace {

class BlockingCommunicator final : public Communicator {
 public:
  explicit BlockingCommunicator(Communicator& ranks) : ranks_(ranks) {}
  int rank() const override { return ranks_.rank(); }
  int size() const override { return ranks_.size(); }
  std::string_view kind() const override { return ranks_.kind(); }
  Ticket start(const Collective& collective) override {
    ranks_.wait(ranks_.start(collective));
    return 0;
  }
  void wait(Ticket) override {}  // it is over
  bool captures() const override { return ranks_.captures(); }
  std::unique_ptr<Communicator> split(int colour) override { return ranks_.split(colour); }
  Traffic traffic() const override { return ranks_.traffic(); }

 private:
  Communicator& ranks_;
};

}  // namespace

BlockingExchange::BlockingExchange(Groups& groups)
    : data_(std::make_unique<BlockingCommunicator>(groups.of(kDataGroup))),
      model_(std::make_unique<BlockingCommunicator>(groups.of(kModelGroup))),
      groups_(std::make_unique<Groups>(groups.distribution(), groups.world(), *data_, *model_)) {}

BlockingExchange::~BlockingExchange() = default;

}  // namespace headroom
