#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "headroom/model.h"
#include "train/engine.h"

namespace headroom {

// The forward pass only, over the weights of an engine, for any number of items.
class Forward {
 public:
  explicit Forward(Engine& engine) : engine_(engine), arena_(engine.device()) {}

  // `fill(i, place)` writes item i, in the engine's precision.
  Scores run(std::int64_t count, const std::function<void(std::int64_t, void*)>& fill);

 private:
  struct Ready {
    ValueId images, outputs;
    std::int64_t columns;
    Buffer batch;
    std::unique_ptr<Executor> executor;
  };
  Ready& ready(std::int64_t batch);

  Engine& engine_;
  Arena arena_;
  std::map<std::int64_t, Ready> ready_;
};

}  // namespace headroom
