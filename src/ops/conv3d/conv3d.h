#pragma once

#include "ops/conv3d/shape.h"
#include "ops/operator.h"

namespace headroom {

// conv3d(x[N,C,D,H,W], w[M,C/groups,KD,KH,KW], bias[M]?; strides, pads, dilations, auto_pad, groups)
//   -> (x * w + bias)[N,M,OD,OH,OW], cross-correlation;
// conv3d_grad_input(dy, w; input_shape, …) -> dx and conv3d_grad_weight(x, dy; weight_shape, …) -> dw.
std::vector<Operator> conv3d_operators();

Conv3d parse_conv3d(const Problem& problem);  // any of the three operators

std::vector<TensorType> infer_conv3d(const std::vector<TensorType>& in, const Attrs& attrs);
std::vector<TensorType> infer_conv3d_grad_input(const std::vector<TensorType>& in, const Attrs& attrs);
std::vector<TensorType> infer_conv3d_grad_weight(const std::vector<TensorType>& in, const Attrs& attrs);
Cost cost_conv3d(const Problem& problem);
std::vector<ValueId> gradient_conv3d(const GradientContext& context);
std::vector<ValueId> gradient_conv3d_grad_input(const GradientContext& context);
std::vector<Case> conv3d_cases(std::string_view op);

}  // namespace headroom
