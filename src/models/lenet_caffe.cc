#include "models/zoo.h"

namespace headroom {

// LeNet from Caffe's MNIST example: 20 and 50 maps, 500 units. 431,080 parameters.
Net make_lenet_caffe(ModelOptions& options) {
  Net net("lenet-caffe", {options.integer("channels", 1), 28, 28});
  net.conv2d("conv1", {.maps = 20, .kernel = 5}).max_pool("pool1", {});
  net.conv2d("conv2", {.maps = 50, .kernel = 5}).max_pool("pool2", {});
  net.linear("ip1", {.units = 500, .activation = "relu"});
  net.linear("ip2", {.units = options.integer("classes", 10)});
  for (Layer& layer : net.layers)
    if (layer.type == "conv2d" || layer.type == "linear") layer.options.set("init", std::string("xavier"));
  return net;
}

}  // namespace headroom
