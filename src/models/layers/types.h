#pragma once

// One function per family; layers.cc joins them into the list for net.json and the builder.

#include "models/layers.h"

namespace headroom {

std::vector<LayerType> window_layers();     // convolution and pooling
std::vector<LayerType> dense_layers();      // fully connected, embedding
std::vector<LayerType> pointwise_layers();  // activations, sums, products, dropout
std::vector<LayerType> normalize_layers();
std::vector<LayerType> arrange_layers();   // change shapes, not values
std::vector<LayerType> sequence_layers();  // of transformers
std::vector<LayerType> recurrent_layers();

// Shared by the families.
using Ints = std::vector<std::int64_t>;
std::vector<OptionSpec> join(std::vector<OptionSpec> a, const std::vector<OptionSpec>& b);
const std::vector<OptionSpec>& weight_options();  // bias, activation, init, …
Initializer initializer_of(const Layer& layer, const Shape& weight, std::int64_t groups = 1);
Initializer bias_initializer_of(const Layer& layer);
const std::vector<std::string>& activation_names();  // "none", "relu6", and operators that say so
ValueId with_activation(const LayerContext& context, ValueId value);
ValueId flattened(const LayerContext& context);  // the input as one row per image
std::int64_t at_least_one(const LayerContext& context, std::string_view option);
Shape image_shape(const LayerContext& context);     // of the input, which must be images
Shape sequence_shape(const LayerContext& context);  // of the input, which must be sequences

}  // namespace headroom
