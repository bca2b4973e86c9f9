#include <fmt/format.h>

#include "models/convnet.h"

namespace headroom {
namespace {

struct ResnetDepth {
  const char* name;
  bool bottleneck;
  int blocks[4];
};
constexpr ResnetDepth kResnetDepths[] = {{"50", true, {3, 4, 6, 3}},
                                         {"18", false, {2, 2, 2, 2}},
                                         {"34", false, {3, 4, 6, 3}},
                                         {"101", true, {3, 4, 23, 3}},
                                         {"152", true, {3, 8, 36, 3}}};

struct ResidualBlock {
  std::string name;
  std::int64_t maps, stride;
  bool bottleneck, project;  // project: a 1x1 convolution changes the shortcut's shape
  bool late;                 // version 1.5: the 3x3 convolution strides, not the first 1x1
};

// Convolutions, then the sum with the shortcut; the last layer has the block's name.
void add_block(ConvNet& n, const ResidualBlock& b) {
  const std::string in = n.net.layers.back().name;
  const std::int64_t out = n.scaled(b.maps) * (b.bottleneck ? 4 : 1);
  auto conv = [&](const char* part, std::int64_t maps, std::int64_t kernel, std::int64_t stride,
                  const std::string& activation, const std::string& from = {}) {
    return n.conv(b.name + part, {.maps = maps, .kernel = kernel, .stride = stride, .pad = kernel / 2},
                  activation, from);
  };
  const std::string shortcut = b.project ? conv("_shortcut", out, 1, b.stride, "", in) : in;
  std::string last;
  if (b.bottleneck) {
    conv("_a", n.scaled(b.maps), 1, b.late ? 1 : b.stride, "relu", in);
    conv("_b", n.scaled(b.maps), 3, b.late ? b.stride : 1, "relu");
    last = conv("_c", out, 1, 1, "");
  } else {
    conv("_a", out, 3, b.stride, "relu", in);
    last = conv("_b", out, 3, 1, "");
  }
  n.begin_silent();  // every block passes its input on at first
  n.net.add(b.name + "_add", last, shortcut);
  n.net.relu(b.name);
}

}  // namespace

// "Deep residual learning" (2015). Version 1 strides in the first convolution of a block, 1.5 in its 3x3 one;
// blocks of two convolutions, depths 18 and 34, are the same in both.
Net make_resnet(ModelOptions& options) {
  std::vector<std::string> names;
  for (const ResnetDepth& depth : kResnetDepths) names.emplace_back(depth.name);
  const std::string asked = options.choice("depth", names);
  const bool late = options.choice("version", {"1", "1.5"}) == "1.5";
  const bool cifar = options.choice("stem", {"imagenet", "cifar"}) == "cifar";
  ImageDefaults defaults{.bn = true};
  if (cifar) defaults.side = 32, defaults.classes = 10;
  ConvNet n("resnet", options, defaults);
  if (cifar) {
    n.conv("conv1", {.maps = n.scaled(64), .kernel = 3, .pad = 1});
  } else {
    n.conv("conv1", {.maps = n.scaled(64), .kernel = 7, .stride = 2, .pad = 3});
    n.max_pool("pool1", {.kernel = 3, .stride = 2, .pad = 1});
  }
  for (const ResnetDepth& depth : kResnetDepths) {
    if (asked != depth.name) continue;
    for (int stage = 0; stage < 4; ++stage)
      for (int i = 0; i < depth.blocks[stage]; ++i)
        add_block(n, {.name = fmt::format("conv{}_{}", stage + 2, i + 1),
                      .maps = std::int64_t{64} << stage,
                      .stride = stage > 0 && i == 0 ? 2 : 1,
                      .bottleneck = depth.bottleneck,
                      .project = i == 0 && (stage > 0 || depth.bottleneck),
                      .late = late});
  }
  n.net.global_avg_pool("avgpool");
  n.dropout("dropout");
  n.classify("fc");
  return n.net;
}

}  // namespace headroom
