#pragma once

// Shared by the networks for photographs: their options, and a convolution with the layers after it.

#include "models/zoo.h"

namespace headroom {

// A network's defaults.
struct ImageDefaults {
  std::int64_t side = 224, classes = 1000;
  std::int64_t least = 1;  // the smallest side at which every window fits
  bool bn = false;
  double dropout = 0;
};

// Reads input, channels, classes, width, bn and dropout, then adds layers to a network that starts with them.
class ConvNet {
 public:
  ConvNet(const std::string& name, ModelOptions& options, const ImageDefaults& defaults);

  // The number of maps or units for width 1; at other widths the nearest multiple of 8, but at most 10 %
  // below the scaled number. This is MobileNet's rule; all published widths are such multiples.
  std::int64_t scaled(std::int64_t maps) const;
  double width() const { return width_; }

  // A convolution, batch normalisation if enabled, an activation. Reads `from`, or the previous layer.
  // Returns the name of the last layer added.
  std::string conv(const std::string& name, Convolution options, const std::string& activation = "relu",
                   const std::string& from = {});
  void begin_silent();  // the convolution just added, or its normalisation, gives 0 before training
  void keep_bias(bool keep) { bias_with_bn_ = keep; }  // before a normalisation; default: none

  void max_pool(const std::string& name, const Pool& options) { net.max_pool(name, options); }
  void dropout(const std::string& name);  // only if enabled
  void linear(const std::string& name, std::int64_t units, const std::string& activation = {});  // hidden
  // One unit per class. The deviation of its first weights: so small that the first scores are nearly equal.
  void classify(const std::string& name, const std::string& activation = {}, double deviation = 0.01);

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
