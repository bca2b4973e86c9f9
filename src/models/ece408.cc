#include "models/zoo.h"

namespace headroom {
namespace {

// One network per term: two convolutions; only in the last form does pooling follow the second.
struct Term {
  const char* name;
  std::int64_t image, maps1, maps2, kernel, hidden;
  bool relu;  // the 2020 form: ReLU, a second pooling, biases
};

constexpr Term kTerms[] = {
    {"2018fa", 72, 12, 24, 7, 160, false}, {"2017fa", 28, 50, 0, 5, 500, false},
    {"2018sp", 64, 6, 16, 5, 140, false},  {"2019sp", 48, 6, 16, 5, 140, false},
    {"2019fa", 70, 12, 24, 5, 160, false}, {"2020fa", 86, 4, 16, 7, 32, true},
};

Term term_named(std::string_view name) {
  for (const Term& term : kTerms)
    if (name == term.name) return term;
  return kTerms[0];
}

}  // namespace

// Networks of the GPU convolution course. They read pixels as 0 to 255.
Net make_ece408(ModelOptions& options) {
  std::vector<std::string> names;
  for (const Term& term : kTerms) names.emplace_back(term.name);
  const Term term = term_named(options.choice("term", names));
  const std::string activation = term.relu ? "relu" : "tanh";
  const std::string init = term.relu ? "normal" : "";  // deviation 0.01, as in that form's own program
  Net net("ece408", {1, term.image, term.image});
  net.conv2d(
      "conv1",
      {.maps = term.maps1, .kernel = term.kernel, .bias = term.relu, .activation = activation, .init = init});
  net.max_pool("pool1", {});
  if (term.maps2 > 0)
    net.conv2d("conv2", {.maps = term.maps2,
                         .kernel = term.kernel,
                         .bias = term.relu,
                         .activation = term.relu ? activation : "",
                         .init = init});
  if (term.relu) net.max_pool("pool2", {.kernel = 4});
  net.linear("fc1", {.units = term.hidden, .activation = activation, .init = init});
  return net.linear("fc2", {.units = options.integer("classes", 10), .init = init});
}

}  // namespace headroom
