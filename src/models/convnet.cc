#include "models/convnet.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace headroom {
namespace {

// "input=224" or "input=180x240", rows first.
std::vector<std::int64_t> image_of(const std::string& name, ModelOptions& options, const ImageDefaults& d) {
  std::vector<std::int64_t> sides = options.integers("input", {d.side});
  if (sides.size() == 1) sides.push_back(sides[0]);
  if (sides.size() != 2)
    reject(Hint{fmt::format("{}:input={} or {}:input=180x240", name, d.side, name)},
           "{}'s option input takes one side of a square, or rows x columns", name);
  if (std::min(sides[0], sides[1]) < d.least)
    reject(Hint{fmt::format("`image-size` {} enlarges images, {}:input={} is the usual size", d.side, name,
                            d.side)},
           "{} needs images of at least {}x{}, not {}x{}", name, d.least, d.least, sides[0], sides[1]);
  return {options.integer("channels", 3), sides[0], sides[1]};
}

}  // namespace

ConvNet::ConvNet(const std::string& name, ModelOptions& options, const ImageDefaults& defaults)
    : net(name, image_of(name, options, defaults)),
      classes_(options.integer("classes", defaults.classes)),
      width_(options.real("width", 1)),
      dropout_(options.real("dropout", defaults.dropout)),
      bn_(options.flag("bn", defaults.bn)) {
  constexpr double kWidest = 64;
  if (!(width_ > 0 && width_ <= kWidest))
    reject("{}'s option width is {}; it must be above 0, and at most {}", name, width_, kWidest);
  if (!(dropout_ >= 0 && dropout_ < 1))
    reject("{}'s option dropout is {}; it must be at least 0 and below 1", name, dropout_);
}

std::int64_t ConvNet::scaled(std::int64_t maps) const {
  constexpr std::int64_t kStep = 8;
  const double wanted = width_ * double(maps);
  std::int64_t nearest = std::max(kStep, std::int64_t(wanted + kStep / 2.0) / kStep * kStep);
  if (double(nearest) < 0.9 * wanted) nearest += kStep;
  return nearest;
}

std::string ConvNet::conv(const std::string& name, Convolution options, const std::string& activation,
                          const std::string& from) {
  // With the default, signals would vanish at this depth. A normalisation sets the size of the signals
  // itself: there it is the gradients that keep theirs.
  if (options.init.empty()) options.init = bn_ ? "he_fan_out" : "he";
  options.bias = !bn_ || bias_with_bn_;
  if (!bn_) options.activation = activation;
  net.conv2d(name, options);
  if (!from.empty()) net.reads(from);
  if (bn_) net.batch_norm(name + "_bn", {.activation = activation});
  return net.layers.back().name;
}

void ConvNet::begin_silent() {
  Attrs& options = net.layers.back().options;
  if (!bn_) options.set("init", std::string("constant"));
  options.set("init_scale", 0.0);
}

void ConvNet::dropout(const std::string& name) {
  if (dropout_ > 0) net.dropout(name, dropout_);
}

void ConvNet::linear(const std::string& name, std::int64_t units, const std::string& activation) {
  net.linear(name, {.units = scaled(units), .activation = activation, .init = "fan_in"});
}

void ConvNet::classify(const std::string& name, const std::string& activation, double deviation) {
  net.linear(name, {.units = classes_, .activation = activation, .init = "normal", .init_scale = deviation});
}

namespace {

// All these networks take these options; a network's own options come first.
std::string with_common(const std::string& own, const ImageDefaults& d = {}) {
  return fmt::format("{}{}input={} (or 180x240), channels=3, classes={}, width=1, dropout={}, bn={}", own,
                     own.empty() ? "" : ", ", d.side, d.classes, d.dropout, d.bn ? "on|off" : "off|on");
}

}  // namespace

std::vector<ZooEntry> convnet_entries() {
  const std::vector<std::string> from_data = {"channels", "image", "classes"};
  const TrainDefaults steep{.batch = 128,
                            .epochs = 10,
                            .lr = 0.01,
                            .momentum = 0.9,
                            .weight_decay = 0.0005,
                            .schedule = "cosine",
                            .warmup = 0.05,
                            .clip_norm = 5};  // for networks without normalisation
  TrainDefaults large = steep, residual = steep, inception = steep, fire = steep, mobile = steep;
  residual.clip_norm = mobile.clip_norm = 0;
  large.batch = 64;
  residual.lr = 0.05, residual.weight_decay = 0.0001;
  inception.weight_decay = 0.0002;
  fire.weight_decay = 0.0002, fire.schedule = "polynomial";
  mobile.lr = 0.045, mobile.weight_decay = 0.00004;
  return {
      {"alexnet", "AlexNet in one column (\"one weird trick\")", with_common("activation=threshold|relu"),
       make_alexnet, steep, from_data},
      {"overfeat", "OverFeat, the fast form", with_common("", {.side = 231}), make_overfeat, steep,
       from_data},
      {"vgg", "VGG of 11 to 19 layers with weights", with_common("depth=16|11|13|19"), make_vgg, large,
       from_data},
      {"googlenet", "GoogLeNet v1 without its auxiliary classifiers", with_common("output=linear|relu"),
       make_googlenet, inception, from_data},
      {"resnet", "residual network",
       with_common("depth=50|18|34|101|152, version=1|1.5, stem=imagenet|cifar", {.bn = true}), make_resnet,
       residual, from_data},
      {"squeezenet", "SqueezeNet", with_common("version=1.0|1.1", {.dropout = 0.5}), make_squeezenet, fire,
       from_data},
      {"mobilenet", "MobileNet", with_common("version=2|1", {.bn = true, .dropout = 0.2}), make_mobilenet,
       mobile, from_data},
  };
}

}  // namespace headroom
