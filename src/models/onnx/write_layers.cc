// Layers with weights, windows, normalisations, attention.
#include <cmath>
#include <limits>

#include "models/onnx/write_node.h"
#include "models/onnx/write_pool.h"
#include "ops/attention/attention.h"
#include "ops/conv3d/conv3d.h"
#include "ops/window.h"

namespace headroom::onnx {
namespace {

// A fused activation becomes a separate node in ONNX.
void with_activation(NodeWriter& n, std::string_view op, const Names& in, const Attrs& attributes) {
  const std::string activation = n.attrs().text("activation");
  if (activation.empty() || activation == "none") return n.result(op, in, attributes);
  const std::string before = n.part(op, in, attributes);
  n.result(schema_of(activation).onnx, {before});
}

// Writes every number: defaults and automatic padding differ between programs.
Attrs window_attributes(const Window2d& w) {
  return {{"kernel_shape", Ints{w.kernel.h, w.kernel.w}},
          {"strides", Ints{w.stride.h, w.stride.w}},
          {"pads", Ints{w.pad.h, w.pad.w, w.pad_end.h, w.pad_end.w}}};
}

void conv2d(NodeWriter& n) {
  const Shape& kernel = n.type(1).shape;
  const Window2d w = parse_window(n.attrs(), n.type(0).shape, kernel[2], kernel[3], DefaultStride::one);
  Attrs attributes = window_attributes(w);
  attributes.set("dilations", Ints{w.dilation.h, w.dilation.w});
  attributes.set("group", n.attrs().integer("groups", 1));
  with_activation(n, n.node().op == "conv2d" ? "Conv" : "ConvInteger", n.all_inputs(), attributes);
}

// Reading an ONNX file makes a convolution's gradient of ConvTranspose. The sizes that a convolution rounds
// down differ by the padding of the output.
void conv_transpose(NodeWriter& n) {
  const Shape &x = n.type(0).shape, &kernel = n.type(1).shape;
  const Window2d w =
      parse_window(n.attrs(), n.problem().outputs[0].shape, kernel[2], kernel[3], DefaultStride::one);
  const auto extra = [](std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t stride,
                        std::int64_t dilation, std::int64_t pads) {
    return out - (stride * (in - 1) + (size - 1) * dilation + 1 - pads);
  };
  Attrs attributes = window_attributes(w);
  attributes.set("dilations", Ints{w.dilation.h, w.dilation.w});
  attributes.set("group", n.attrs().integer("groups", 1));
  attributes.set("output_padding",
                 Ints{extra(x[2], w.input.h, w.kernel.h, w.stride.h, w.dilation.h, w.pad.h + w.pad_end.h),
                      extra(x[3], w.input.w, w.kernel.w, w.stride.w, w.dilation.w, w.pad.w + w.pad_end.w)});
  n.result("ConvTranspose", n.all_inputs(), attributes);
}

Attrs volume_attributes(const NodeWriter& n, const Window3d& w) {
  return {{"kernel_shape", Ints{w.depth.kernel, w.rows.kernel, w.columns.kernel}},
          {"strides", Ints{w.depth.stride, w.rows.stride, w.columns.stride}},
          {"pads",
           Ints{w.depth.pad, w.rows.pad, w.columns.pad, w.depth.pad_end, w.rows.pad_end, w.columns.pad_end}},
          {"dilations", Ints{w.depth.dilation, w.rows.dilation, w.columns.dilation}},
          {"group", n.attrs().integer("groups", 1)}};
}

void conv3d(NodeWriter& n) {
  n.result("Conv", n.all_inputs(), volume_attributes(n, parse_conv3d(n.problem()).window));
}

void conv_transpose3d(NodeWriter& n) {
  const Window3d w = parse_conv3d(n.problem()).window;
  const auto extra = [](const WindowAxis& a) {
    return a.input - (a.stride * (a.output - 1) + (a.kernel - 1) * a.dilation + 1 - a.pad - a.pad_end);
  };
  Attrs attributes = volume_attributes(n, w);
  attributes.set("output_padding", Ints{extra(w.depth), extra(w.rows), extra(w.columns)});
  n.result("ConvTranspose", n.all_inputs(), attributes);
}

// Gemm takes only matrices: other inputs are reshaped to one and back.
void linear(NodeWriter& n) {
  const Attrs transposed{{"transB", std::int64_t{1}}};
  Names in = n.all_inputs();
  if (n.type(0).shape.rank() == 2) return with_activation(n, "Gemm", in, transposed);
  const Shape& x = n.type(0).shape;
  const std::int64_t columns = x[x.rank() - 1];
  in[0] = n.part("Reshape", {in[0], n.integers({-1, columns})});
  const std::string product = n.part("Gemm", in, transposed);
  with_activation(n, "Reshape", {product, n.integers(n.reshaped())}, {});
}

void matmul(NodeWriter& n) {
  if (n.inputs() > 2) n.refuse("with an activation's gradient is for training");
  Names in = n.all_inputs();
  for (const auto& [i, name] : {std::pair(0, "trans_a"), std::pair(1, "trans_b")}) {
    const auto input = static_cast<std::size_t>(i);
    const int rank = n.type(input).shape.rank();
    if (n.attrs().integer(name) == 0 || rank < 2) continue;
    Ints perm;
    for (int a = 0; a < rank; ++a) perm.push_back(a);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    in[input] = n.part("Transpose", {in[input]}, {{"perm", perm}});
  }
  n.result("MatMul", in);
}

void global_pool(NodeWriter& n) {
  n.result(n.node().op == "global_max_pool" ? "GlobalMaxPool" : "GlobalAveragePool", {n.input(0)});
}

// If the output divides the input, all windows have one size; otherwise ONNX has no operator.
void adaptive_pool(NodeWriter& n) {
  const Shape &x = n.type(0).shape, &y = n.problem().outputs[0].shape;
  const bool largest = n.node().op == "adaptive_max_pool";
  if (x[2] % y[2] != 0 || x[3] % y[3] != 0)
    n.refuse(fmt::format("from {}x{} to {}x{} has windows of several sizes, which no operator there has",
                         x[2], x[3], y[2], y[3]));
  const Ints size{x[2] / y[2], x[3] / y[3]};
  n.result(largest ? "MaxPool" : "AveragePool", {n.input(0)}, {{"kernel_shape", size}, {"strides", size}});
}

void batch_norm(NodeWriter& n) {
  n.result("BatchNormalization", n.all_inputs(), {{"epsilon", n.attrs().real("epsilon", 1e-5)}});
}

void layer_norm(NodeWriter& n) {
  n.read_results("LayerNormalization", n.all_inputs(),
                 {{"axis", n.attrs().integer("axis", -1)}, {"epsilon", n.attrs().real("epsilon", 1e-5)}});
}

void lrn(NodeWriter& n) {
  n.result("LRN", {n.input(0)},
           {{"size", n.attrs().integer("size")},
            {"alpha", n.attrs().real("alpha", 1e-4)},
            {"beta", n.attrs().real("beta", 0.75)},
            {"bias", n.attrs().real("bias", 1)}});
}

void softmax(NodeWriter& n) {
  n.result(n.node().op == "softmax" ? "Softmax" : "LogSoftmax", {n.input(0)},
           {{"axis", n.attrs().integer("axis", -1)}});
}

// Written out: ONNX has no operator for it in the versions that programs commonly read.
void attention(NodeWriter& n) {
  const AttentionProblem a = attention_problem(n.problem());
  const std::string parts =
      n.part("Reshape", {n.input(0), n.integers(n.reshaped({a.batch, a.time, 3, a.heads, a.width}))});
  const std::string turned = n.part("Transpose", {parts}, {{"perm", Ints{2, 0, 3, 1, 4}}});
  auto take = [&](std::int64_t i) {
    return n.part("Gather", {turned, n.integer(i)}, {{"axis", std::int64_t{0}}});  // [B, H, T, D]
  };
  const std::string keys = n.part("Transpose", {take(1)}, {{"perm", Ints{0, 1, 3, 2}}});
  std::string scores = n.part("Mul", {n.part("MatMul", {take(0), keys}), n.real(a.scale, 0)});
  if (a.causal) {
    std::vector<double> mask(static_cast<std::size_t>(a.time * a.time), 0.0);
    for (std::int64_t t = 0; t < a.time; ++t)
      for (std::int64_t u = t + 1; u < a.time; ++u)
        mask[static_cast<std::size_t>(t * a.time + u)] = -std::numeric_limits<double>::infinity();
    scores = n.part("Add", {scores, n.reals({a.time, a.time}, mask)});
  }
  const std::string shares = n.part("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string mixed =
      n.part("Transpose", {n.part("MatMul", {shares, take(2)})}, {{"perm", Ints{0, 2, 1, 3}}});
  n.result("Reshape", {mixed, n.integers(n.reshaped({a.batch, a.time, a.row()}))});
}

}  // namespace

std::vector<Writing> layer_writings() {
  return {{"conv2d", conv2d},
          {"conv2d_integer", conv2d},
          {"conv2d_grad_input", conv_transpose},
          {"conv3d", conv3d},
          {"conv3d_grad_input", conv_transpose3d},
          {"linear", linear},
          {"matmul", matmul},
          {"max_pool", write_pool},
          {"avg_pool", write_pool},
          {"max_pool3d", write_pool},
          {"avg_pool3d", write_pool},
          {"global_max_pool", global_pool},
          {"global_avg_pool", global_pool},
          {"adaptive_max_pool", adaptive_pool},
          {"adaptive_avg_pool", adaptive_pool},
          {"batch_norm_inference", batch_norm},
          {"layer_norm", layer_norm},
          {"lrn", lrn},
          {"softmax", softmax},
          {"log_softmax", softmax},
          {"attention", attention}};
}

}  // namespace headroom::onnx
