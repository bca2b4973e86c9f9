#include "models/convnet.h"

namespace headroom {

// The fast form of OverFeat (2013), from the convnet benchmarks. 145,920,872 parameters.
Net make_overfeat(ModelOptions& options) {
  ConvNet n("overfeat", options, {.side = 231, .least = 71});
  auto hidden = [&](const std::string& name, std::int64_t units) {
    n.dropout(name + "_dropout");
    n.linear(name, units, "relu");
  };
  n.conv("conv1", {.maps = n.scaled(96), .kernel = 11, .stride = 4});
  n.max_pool("pool1", {});
  n.conv("conv2", {.maps = n.scaled(256), .kernel = 5});
  n.max_pool("pool2", {});
  n.conv("conv3", {.maps = n.scaled(512), .kernel = 3, .pad = 1});
  n.conv("conv4", {.maps = n.scaled(1024), .kernel = 3, .pad = 1});
  n.conv("conv5", {.maps = n.scaled(1024), .kernel = 3, .pad = 1});
  n.max_pool("pool5", {});
  hidden("fc6", 3072);
  hidden("fc7", 4096);
  n.classify("fc8");
  return n.net;
}

}  // namespace headroom
