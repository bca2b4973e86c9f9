// Quantised operators.
#include "models/onnx/write_node.h"

namespace headroom::onnx {
namespace {

Attrs place(const NodeWriter& n) {
  Attrs attributes;
  if (n.type(1).shape.numel() > 1 || n.attrs().has("block"))
    attributes.set("axis", n.attrs().integer("axis", 1));
  if (n.attrs().has("block")) attributes.set("block_size", n.attrs().integer("block"));
  return attributes;
}

// Zero points as many as scales: ONNX repeats none.
Names scale_and_zero(NodeWriter& n) {
  const Shape &scale = n.type(1).shape, &zero = n.type(2).shape;
  if (scale == zero) return {n.input(1), n.input(2)};
  const std::string all = n.part("Expand", {n.input(2), n.integers(scale.vector())});
  return {n.input(1), all};
}

// ONNX knows a type by its zero point, and ours may be wider than the file's was.
void require_bytes(const NodeWriter& n) {
  const DType to = n.problem().outputs[0].dtype;
  const std::int64_t low = to == DType::u8 ? 0 : -128, high = to == DType::u8 ? 255 : 127;
  if (!is_8bit(to) || n.attrs().integer("low") != low || n.attrs().integer("high") != high)
    n.refuse("integers of 4 or 16 bits are not written");
}

void quantize(NodeWriter& n) {
  require_bytes(n);
  const Names more = scale_and_zero(n);
  n.result("QuantizeLinear", {n.input(0), more[0], more[1]}, place(n));
}

void dequantize(NodeWriter& n) {
  const Names more = scale_and_zero(n);
  n.result("DequantizeLinear", {n.input(0), more[0], more[1]}, place(n));
}

// A product of floats, then a quantisation by 1.
void requantize(NodeWriter& n) {
  require_bytes(n);
  const std::string x = n.part("Cast", {n.input(0)}, {{"to", std::int64_t{onnx_type(n.type(1).dtype)}}});
  std::string factor = n.input(1);
  if (n.type(1).shape.numel() > 1) {
    Ints dims(static_cast<std::size_t>(n.type(0).shape.rank() - n.attrs().integer("axis", 1)), 1);
    dims[0] = n.type(1).shape.numel();
    factor = n.part("Reshape", {factor, n.integers(dims)});
  }
  if (n.type(2).shape.numel() > 1) n.refuse("its sums have several zero points");
  const std::string scaled = n.part("Mul", {x, factor});
  n.result("QuantizeLinear", {scaled, n.real(1, 1), n.part("Reshape", {n.input(2), n.integers({})})});
}

void matmul_integer(NodeWriter& n) { n.result("MatMulInteger", n.all_inputs()); }

}  // namespace

std::vector<Writing> quantized_writings() {
  return {{"quantize", quantize},
          {"dequantize", dequantize},
          {"requantize", requantize},
          {"matmul_integer", matmul_integer}};
}

}  // namespace headroom::onnx
