#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/loader.h"
#include "headroom/net.h"

namespace headroom {

// A published case: everything a run needs, under one name. Values missing in the file keep the program's
// defaults.
struct Recipe {
  std::string name, title, source;
  std::string model, data;
  std::int64_t train_size = 0, test_size = 0, validation_tail = 0;
  std::int64_t batch = 0, epochs = 0;
  double lr = 0, l2 = 0, momentum = 0;
  std::string optimizer, schedule = "constant", augment;
  double target = 0;  // accuracy to stop at
  bool shuffle = true;
  Preprocess preprocess;
  // Kernels to use in fp32, as "op=name": these stay closest to the published figures, which are fp64.
  std::vector<std::string> kernels_fp32;
  std::string initial;  // "course": the perceptron course's weights; empty: the model's own
  std::map<std::string, double> published;  // figures to compare the result with
};

std::vector<std::string> recipe_names();
Recipe find_recipe(
    std::string_view name);  // a name or a JSON file; rejects unknown names, suggests the nearest
std::string recipe_text(std::string_view name);  // its JSON

// Applies a recipe's initial weights to the network's layers.
void apply_initial(const Recipe& recipe, Net& net);

}  // namespace headroom
