#include "models/zoo.h"

#include <fmt/format.h>

namespace headroom {

// Symmetric around the narrowest layer; learns to reconstruct its own input.
Net make_autoencoder(ModelOptions& options) {
  const auto hidden = options.integers("hidden", {256, 64});
  const std::string activation = options.choice("activation", {"relu", "tanh", "sigmoid"});
  const std::int64_t input = options.integer("input", 784);
  Net net("autoencoder", {input});
  net.loss = kReconstruction;
  for (std::size_t i = 0; i < hidden.size(); ++i)
    net.linear(i + 1 == hidden.size() ? "code" : fmt::format("encode{}", i + 1),
               {.units = hidden[i], .activation = activation});
  for (std::size_t i = hidden.size() - 1; i > 0; --i)
    net.linear(fmt::format("decode{}", hidden.size() - i),
               {.units = hidden[i - 1], .activation = activation});
  return net.linear("out", {.units = input, .activation = "sigmoid"});
}

}  // namespace headroom
