#include "models/convnet.h"

namespace headroom {

// "One weird trick for parallelizing convolutional neural networks" (2014) in the form of the convnet
// benchmarks: one column, no local response normalisation. Its hidden layers end in x > 0 ? x : 1e-6, a ReLU
// that is never exactly zero. 61,100,840 parameters.
Net make_alexnet(ModelOptions& options) {
  ConvNet n("alexnet", options, {.least = 63});
  const bool threshold = options.choice("activation", {"threshold", "relu"}) == "threshold";
  auto hidden = [&](const std::string& name, std::int64_t units) {
    n.dropout(name + "_dropout");
    n.linear(name, units, threshold ? "" : "relu");
    if (threshold) n.net.threshold(name + "_threshold", 0, 1e-6);
  };
  const Pool overlapping{.kernel = 3, .stride = 2};
  n.conv("conv1", {.maps = n.scaled(64), .kernel = 11, .stride = 4, .pad = 2});
  n.max_pool("pool1", overlapping);
  n.conv("conv2", {.maps = n.scaled(192), .kernel = 5, .pad = 2});
  n.max_pool("pool2", overlapping);
  n.conv("conv3", {.maps = n.scaled(384), .kernel = 3, .pad = 1});
  n.conv("conv4", {.maps = n.scaled(256), .kernel = 3, .pad = 1});
  n.conv("conv5", {.maps = n.scaled(256), .kernel = 3, .pad = 1});
  n.max_pool("pool5", overlapping);
  hidden("fc6", 4096);
  hidden("fc7", 4096);
  n.classify("fc8");
  return n.net;
}

}  // namespace headroom
