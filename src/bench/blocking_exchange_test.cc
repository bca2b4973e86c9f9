#include "bench/blocking_exchange.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

// Remembers what was asked of it.
class Listening final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  std::string_view kind() const override { return "self"; }
  Ticket start(const Collective&) override {
    heard += "start ";
    return ++last_;
  }
  void wait(Ticket ticket) override { heard += ticket == last_ ? "wait " : "wait for another "; }
  std::unique_ptr<Communicator> split(int) override { return nullptr; }
  Traffic traffic() const override { return {}; }

  std::string heard;

 private:
  Ticket last_ = 0;
};

TEST(BlockingExchange, AnExchangeIsOverWhenItsStartReturns) {
  Listening world, data, model;
  Groups usual({.data_parts = 2}, world, data, model);
  float values[2] = {};
  const Collective sum{.kind = Collective::Kind::all_reduce, .data = values, .count = 2};
  usual.start(kDataGroup, sum, values);
  EXPECT_EQ(data.heard, "start ");
  usual.finish(values);
  data.heard.clear();

  BlockingExchange blocking(usual);
  blocking.groups().start(kDataGroup, sum, values);
  EXPECT_EQ(data.heard, "start wait ");
  blocking.groups().finish(values);
  EXPECT_EQ(data.heard, "start wait ");
  EXPECT_EQ(blocking.groups().distribution().data_parts, 2);
}

}  // namespace
}  // namespace headroom
