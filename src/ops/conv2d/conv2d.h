#pragma once

#include <limits>

#include "ops/activation/activation.h"
#include "ops/operator.h"
#include "ops/window.h"

namespace headroom {

// conv2d(x[N,C,H,W], w[M,C/groups,KH,KW], bias[M]?; strides, pads, dilations, auto_pad, groups, activation)
//   -> f(x * w + bias)[N,M,OH,OW], cross-correlation;
// conv2d_grad_input(dy, w; input_shape, …) -> dx and conv2d_grad_weight(x, dy; weight_shape, …) -> dw;
// conv2d_block(x, w, bias[M]?, (gamma, beta, mean, variance)[M]?, residual?; as conv2d, and bias, norm,
// residual: is the input there? epsilon, min, max, pool) -> f(norm(x * w + bias) + residual), f an activation
// or a cut to [min, max]: what passes/blocks.cc makes of an evaluated network. With pool = max or avg the
// result is pooled as by that operator, whose attributes are here with the prefix `pool_`. No gradient.
std::vector<Operator> conv2d_operators();

// What a conv2d_block does to its result.
struct BlockPool {
  enum class Kind { none, max, avg };
  Kind kind = Kind::none;
  Window2d window = {};  // over the convolution's output
  bool count_include_pad = false;
};

// One convolution, whichever of its three products is computed.
struct Conv2d {
  std::int64_t batch, channels, maps, groups;
  Window2d window;
  bool bias = false;
  Activation activation = Activation::none;
  // conv2d_block alone.
  bool norm = false, residual = false;
  double epsilon = 0;
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  BlockPool pool = {};

  // Where its inputs begin.
  std::size_t norm_input() const { return bias ? 3 : 2; }
  std::size_t residual_input() const { return norm_input() + (norm ? 4 : 0); }
  bool cuts() const {
    return low > -std::numeric_limits<double>::infinity() || high < std::numeric_limits<double>::infinity();
  }

  bool pools() const { return pool.kind != BlockPool::Kind::none; }
  std::int64_t pooled_plane() const {
    return pools() ? pool.window.output.h * pool.window.output.w : output_plane();
  }

  std::int64_t group_channels() const { return channels / groups; }
  std::int64_t group_maps() const { return maps / groups; }
  std::int64_t taps() const { return window.kernel.h * window.kernel.w; }
  std::int64_t depth() const { return group_channels() * taps(); }  // products per output
  std::int64_t input_plane() const { return window.input.h * window.input.w; }
  std::int64_t output_plane() const { return window.output.h * window.output.w; }
  std::int64_t input_image() const { return channels * input_plane(); }
  std::int64_t output_image() const { return maps * output_plane(); }
  std::int64_t weights() const { return maps * depth(); }
  // The window covers the whole input: the convolution is a fully connected layer.
  bool covers_input() const;
  // One tap at stride one without padding: the input already is the matrix that im2col would build.
  bool is_pointwise() const;
};

Conv2d parse_conv2d(const Problem& problem);  // any of the three operators
// "max_pool" or "avg_pool" as a conv2d_block names it: its attributes under new names.
Attrs block_pool_attrs(std::string_view pool, const Attrs& attrs);
Layout conv2d_layout(const Problem& problem);  // of its tensors of rank 4, filters too

std::vector<TensorType> infer_conv2d(const std::vector<TensorType>& in, const Attrs& attrs);
std::vector<TensorType> infer_conv2d_grad_input(const std::vector<TensorType>& in, const Attrs& attrs);
std::vector<TensorType> infer_conv2d_grad_weight(const std::vector<TensorType>& in, const Attrs& attrs);
std::vector<TensorType> infer_conv2d_block(const std::vector<TensorType>& in, const Attrs& attrs);
Cost cost_conv2d(const Problem& problem);
std::vector<ValueId> gradient_conv2d(const GradientContext& context);
std::vector<ValueId> gradient_conv2d_grad_input(const GradientContext& context);
std::vector<Case> conv2d_cases(std::string_view op);
std::vector<Case> conv2d_block_cases();

}  // namespace headroom
