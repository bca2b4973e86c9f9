#pragma once

// What the networks for photographs share: their options, and a convolution with what follows it.

#include "models/zoo.h"

namespace headroom {

// What a network is where the user says nothing.
struct ImageDefaults {
  std::int64_t side = 224, classes = 1000;
  std::int64_t least = 1;  // the smallest side for which every window fits
  bool bn = false;
  double dropout = 0;
};

// Reads input, channels, classes, width, bn and dropout, then adds layers to a network that begins with them.
class ConvNet {
 public:
  ConvNet(const std::string& name, ModelOptions& options, const ImageDefaults& defaults);

  // So many maps or units at width 1; at others the nearest multiple of 8, but never 10 % less. MobileNet's
  // rule; all published widths are such multiples.
  std::int64_t scaled(std::int64_t maps) const;
  double width() const { return width_; }

  // A convolution, batch normalisation where it is on, an activation. Reads `from`, or the layer before.
  // Returns the name of what came last.
  std::string conv(const std::string& name, Convolution options, const std::string& activation = "relu",
                   const std::string& from = {});
  void keep_bias(bool keep) { bias_with_bn_ = keep; }  // of convolutions before a normalisation; else none

  void max_pool(const std::string& name, const Pool& options) { net.max_pool(name, options); }
  void dropout(const std::string& name);  // where there is any
  void linear(const std::string& name, std::int64_t units, const std::string& activation = {});  // hidden
  void classify(const std::string& name, const std::string& activation = {});  // one unit per class

  std::int64_t classes() const { return classes_; }

  Net net;

 private:
  std::int64_t classes_;
  double width_, dropout_;
  bool bn_, bias_with_bn_ = false;
};

std::vector<ZooEntry> convnet_entries();

Net make_alexnet(ModelOptions& options);
Net make_overfeat(ModelOptions& options);
Net make_vgg(ModelOptions& options);
Net make_googlenet(ModelOptions& options);
Net make_resnet(ModelOptions& options);
Net make_squeezenet(ModelOptions& options);
Net make_mobilenet(ModelOptions& options);

}  // namespace headroom
