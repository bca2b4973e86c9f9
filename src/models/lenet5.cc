#include "models/zoo.h"

namespace headroom {

// LeNet-5 in its dense modern form: every C3 map sees all six S2 maps, pooling has no coefficients. 61,706
// parameters.
Net make_lenet5(ModelOptions& options) {
  const std::string activation = options.choice("activation", {"relu", "tanh", "sigmoid"});
  const std::string pool = options.choice("pool", {"max", "avg"});
  Net net("lenet5", {options.integer("channels", 1), 32, 32});
  auto subsample = [&](const char* name) { pool == "max" ? net.max_pool(name, {}) : net.avg_pool(name, {}); };
  net.conv2d("C1", {.maps = 6, .kernel = 5, .activation = activation});
  subsample("S2");
  net.conv2d("C3", {.maps = 16, .kernel = 5, .activation = activation});
  subsample("S4");
  net.conv2d("C5", {.maps = 120, .kernel = 5, .activation = activation});
  net.linear("F6", {.units = 84, .activation = activation});
  return net.linear("out", {.units = options.integer("classes", 10)});
}

}  // namespace headroom
