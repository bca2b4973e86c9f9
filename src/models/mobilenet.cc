#include <algorithm>

#include <fmt/format.h>

#include "models/convnet.h"

namespace headroom {
namespace {

// A 3x3 convolution of each map separately.
Convolution depthwise(std::int64_t maps, std::int64_t stride) {
  return {.maps = maps, .kernel = 3, .stride = stride, .pad = 1, .groups = maps};
}

// Widen, filter each map separately, narrow without an activation; add the input if the shape is unchanged.
std::int64_t add_inverted(ConvNet& n, const std::string& name, std::int64_t in, std::int64_t out,
                          std::int64_t expand, std::int64_t stride) {
  const std::string from = n.net.layers.back().name;
  if (expand != 1) n.conv(name + "_expand", {.maps = in * expand, .kernel = 1}, "relu6");
  n.conv(name + "_depthwise", depthwise(in * expand, stride), "relu6");
  const std::string last = n.conv(name + "_project", {.maps = out, .kernel = 1}, "");
  if (stride == 1 && in == out) n.net.add(name, last, from);
  return out;
}

// "MobileNetV2" (2018): expansion, maps, blocks, stride of the first.
void add_version2(ConvNet& n) {
  constexpr std::int64_t kGroups[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                         {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::int64_t maps = n.scaled(32);
  n.conv("conv1", {.maps = maps, .kernel = 3, .stride = 2, .pad = 1}, "relu6");
  int number = 0;
  for (const auto& [expand, out, blocks, stride] : kGroups)
    for (std::int64_t i = 0; i < blocks; ++i)
      maps =
          add_inverted(n, fmt::format("block{}", ++number), maps, n.scaled(out), expand, i == 0 ? stride : 1);
  // The last layer does not shrink with the others.
  n.conv("conv2", {.maps = std::max<std::int64_t>(1280, n.scaled(1280)), .kernel = 1}, "relu6");
}

// "MobileNets" (2017): maps and stride of each pair of a depthwise and a 1x1 convolution.
void add_version1(ConvNet& n) {
  constexpr std::int64_t kPairs[][2] = {{64, 1},  {128, 2}, {128, 1}, {256, 2}, {256, 1},  {512, 2}, {512, 1},
                                        {512, 1}, {512, 1}, {512, 1}, {512, 1}, {1024, 2}, {1024, 1}};
  std::int64_t maps = n.scaled(32);
  n.conv("conv1", {.maps = maps, .kernel = 3, .stride = 2, .pad = 1});
  int number = 0;
  for (const auto& [out, stride] : kPairs) {
    const std::string name = fmt::format("block{}", ++number);
    n.conv(name + "_depthwise", depthwise(maps, stride));
    maps = n.scaled(out);
    n.conv(name + "_project", {.maps = maps, .kernel = 1});
  }
}

}  // namespace

Net make_mobilenet(ModelOptions& options) {
  const bool second = options.choice("version", {"2", "1"}) == "2";
  ConvNet n("mobilenet", options, {.bn = true, .dropout = 0.2});
  second ? add_version2(n) : add_version1(n);
  n.net.global_avg_pool("avgpool");
  n.dropout("dropout");
  n.classify("fc");
  return n.net;
}

}  // namespace headroom
