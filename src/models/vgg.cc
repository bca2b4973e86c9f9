#include <fmt/format.h>

#include "models/convnet.h"

namespace headroom {
namespace {

// Convolutions in each of the five stages: models A, B, D and E of "Very deep convolutional networks" (2014).
struct VggDepth {
  const char* name;
  int convolutions[5];
};
constexpr VggDepth kVggDepths[] = {
    {"16", {2, 2, 3, 3, 3}}, {"11", {1, 1, 2, 2, 2}}, {"13", {2, 2, 2, 2, 2}}, {"19", {2, 2, 4, 4, 4}}};
constexpr std::int64_t kMaps[] = {64, 128, 256, 512, 512};

}  // namespace

Net make_vgg(ModelOptions& options) {
  std::vector<std::string> names;
  for (const VggDepth& depth : kVggDepths) names.emplace_back(depth.name);
  const std::string asked = options.choice("depth", names);
  ConvNet n("vgg", options, {.least = 32});
  n.keep_bias(true);  // weight files of the normalised form have it
  for (const VggDepth& depth : kVggDepths) {
    if (asked != depth.name) continue;
    for (int stage = 0; stage < 5; ++stage) {
      for (int i = 0; i < depth.convolutions[stage]; ++i)
        n.conv(fmt::format("conv{}_{}", stage + 1, i + 1),
               {.maps = n.scaled(kMaps[stage]), .kernel = 3, .pad = 1});
      n.max_pool(fmt::format("pool{}", stage + 1), {});
    }
  }
  for (const char* name : {"fc6", "fc7"}) {
    n.linear(name, 4096, "relu");
    n.dropout(std::string(name) + "_dropout");
  }
  n.classify("fc8");
  return n.net;
}

}  // namespace headroom
