#pragma once

#include <string>
#include <vector>

#include "bench/sampler.h"
#include "data/dataset.h"
#include "data/loader.h"
#include "train/engine.h"

namespace headroom {

// The convolutions of a layer in a plan, with the copies between layouts and types that they need.
struct ConvolutionSteps {
  std::string layer, kernel;
  double flops = 0;  // of one batch
  std::vector<std::size_t> steps;
};
// In the order of the forward pass. Empty: the network has no convolution.
std::vector<ConvolutionSteps> convolutions_of(const Plan& plan);

struct TimedConvolution {
  std::string layer, kernel;
  double flops = 0;  // of all images
  Spread seconds;
};

// One network on the first images of a set, with the convolutions of one kind.
struct ConvolutionPass {
  std::vector<TimedConvolution> layers;
  Sampled sum;           // of all convolutions
  double accuracy = -1;  // below 0: not a classifier
};

// Whole passes over the images, both networks in turn. The op time of a layer is the device's time of its
// steps, added up over the batches of a pass.
std::vector<ConvolutionPass> time_convolutions(const std::vector<Engine*>& engines, const Split& images,
                                               const Preprocess& preprocess, std::int64_t batch);

// The first `count` items of a split.
Split first_images(const Split& split, std::int64_t count);

}  // namespace headroom
