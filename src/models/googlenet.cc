#include <fmt/format.h>

#include "models/convnet.h"

namespace headroom {
namespace {

// Maps of the four branches: 1x1; 1x1 then 3x3; 1x1 then 5x5; pooling then 1x1.
struct Inception {
  const char* name;
  std::int64_t one, reduce3, three, reduce5, five, pool;
};
constexpr Inception kStages[3][5] = {
    {{"3a", 64, 96, 128, 16, 32, 32}, {"3b", 128, 128, 192, 32, 96, 64}},
    {{"4a", 192, 96, 208, 16, 48, 64},
     {"4b", 160, 112, 224, 24, 64, 64},
     {"4c", 128, 128, 256, 24, 64, 64},
     {"4d", 112, 144, 288, 32, 64, 64},
     {"4e", 256, 160, 320, 32, 128, 128}},
    {{"5a", 256, 160, 320, 32, 128, 128}, {"5b", 384, 192, 384, 48, 128, 128}},
};

void add_inception(ConvNet& n, const Inception& m) {
  const std::string in = n.net.layers.back().name, name = m.name;
  auto conv = [&](const std::string& part, std::int64_t maps, std::int64_t kernel, const std::string& from) {
    return n.conv(name + part, {.maps = n.scaled(maps), .kernel = kernel, .pad = kernel / 2}, "relu", from);
  };
  const std::string one = conv("_1x1", m.one, 1, in);
  const std::string three = conv("_3x3", m.three, 3, conv("_3x3_reduce", m.reduce3, 1, in));
  const std::string five = conv("_5x5", m.five, 5, conv("_5x5_reduce", m.reduce5, 1, in));
  n.max_pool(name + "_pool", {.kernel = 3, .stride = 1, .pad = 1});
  n.net.reads(in);
  const std::string pool = conv("_pool_proj", m.pool, 1, {});
  n.net.concat(name, {one, three, five, pool});
}

}  // namespace

// "Going deeper with convolutions" (2014) as in the convnet benchmarks: no local response normalisation, no
// auxiliary classifiers. Their Torch file ends in a ReLU: output=relu. 6,998,552 parameters.
Net make_googlenet(ModelOptions& options) {
  ConvNet n("googlenet", options, {});
  const bool relu = options.choice("output", {"linear", "relu"}) == "relu";
  const Pool halving{.kernel = 3, .stride = 2, .pad = 1};
  n.conv("conv1", {.maps = n.scaled(64), .kernel = 7, .stride = 2, .pad = 3});
  n.max_pool("pool1", halving);
  n.conv("conv2r", {.maps = n.scaled(64), .kernel = 1});
  n.conv("conv2", {.maps = n.scaled(192), .kernel = 3, .pad = 1});
  n.max_pool("pool2", halving);
  for (int stage = 0; stage < 3; ++stage) {
    if (stage > 0) n.max_pool(fmt::format("pool{}", stage + 2), halving);
    for (const Inception& module : kStages[stage])
      if (module.name != nullptr) add_inception(n, module);
  }
  n.net.global_avg_pool("avgpool");  // 7x7 windows over 7x7 maps of a 224x224 image
  n.dropout("dropout");
  n.classify("fc", relu ? "relu" : "", 0.005);  // without normalisation, signals grow with every maximum
  return n.net;
}

}  // namespace headroom
