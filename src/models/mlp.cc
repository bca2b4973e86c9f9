#include "models/zoo.h"

#include <fmt/format.h>

namespace headroom {

// The two-layer perceptron of the MPI course by default: 784 pixels, a sigmoid layer, ten classes.
Net make_mlp(ModelOptions& options) {
  const auto hidden = options.integers("hidden", {512});
  const std::string activation = options.choice("activation", {"sigmoid", "tanh", "relu"});
  Net net("mlp", {options.integer("input", 784)});
  for (std::size_t i = 0; i < hidden.size(); ++i)
    net.linear(hidden.size() == 1 ? "hidden" : fmt::format("hidden{}", i + 1),
               {.units = hidden[i], .activation = activation});
  return net.linear("out", {.units = options.integer("classes", 10)});
}

}  // namespace headroom
