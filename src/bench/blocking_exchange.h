#pragma once

#include <memory>

#include "comm/groups.h"

namespace headroom {

// The same ranks, but every exchange is over before the next computation begins: what a program with blocking
// calls does.
class BlockingExchange {
 public:
  explicit BlockingExchange(Groups& groups);
  ~BlockingExchange();
  Groups& groups() { return *groups_; }

 private:
  std::unique_ptr<Communicator> data_, model_;
  std::unique_ptr<Groups> groups_;
};

}  // namespace headroom
