#include <algorithm>

#include "models/convnet.h"

namespace headroom {
namespace {

// 1x1 to few maps, then 1x1 and 3x3 in parallel.
void add_fire(ConvNet& n, const std::string& name, std::int64_t squeeze, std::int64_t expand) {
  const std::string narrow = n.conv(name + "_squeeze", {.maps = n.scaled(squeeze), .kernel = 1});
  const std::string one = n.conv(name + "_1x1", {.maps = n.scaled(expand), .kernel = 1}, "relu", narrow);
  const std::string three =
      n.conv(name + "_3x3", {.maps = n.scaled(expand), .kernel = 3, .pad = 1}, "relu", narrow);
  n.net.concat(name, {one, three});
}

}  // namespace

// "SqueezeNet" (2016): no fully connected layer; the last convolution has a map per class. Version 1.1 begins
// with a smaller window and pools earlier.
Net make_squeezenet(ModelOptions& options) {
  const bool first = options.choice("version", {"1.0", "1.1"}) == "1.0";
  ConvNet n("squeezenet", options, {.least = first ? 21 : 17, .dropout = 0.5});
  const Pool pool{.kernel = 3, .stride = 2, .ceil_mode = true};
  constexpr std::int64_t kSqueeze[] = {16, 16, 32, 32, 48, 48, 64, 64};
  const std::vector<int> pools = first ? std::vector<int>{1, 4, 8} : std::vector<int>{1, 3, 5};
  if (first)
    n.conv("conv1", {.maps = n.scaled(96), .kernel = 7, .stride = 2});
  else
    n.conv("conv1", {.maps = n.scaled(64), .kernel = 3, .stride = 2});
  n.max_pool("pool1", pool);
  for (int i = 2; i <= 9; ++i) {
    add_fire(n, "fire" + std::to_string(i), kSqueeze[i - 2], 4 * kSqueeze[i - 2]);
    if (std::find(pools.begin(), pools.end(), i) != pools.end()) n.max_pool("pool" + std::to_string(i), pool);
  }
  n.dropout("dropout");
  // All scores begin on the side of the ReLU where they can learn: a class below zero would stay there.
  n.net.conv2d("conv10",
               {.maps = n.classes(), .kernel = 1, .activation = "relu", .init = "normal", .init_bias = 1});
  n.net.global_avg_pool("avgpool");
  n.net.flatten("out");
  return n.net;
}

}  // namespace headroom
