// Signals: window functions, and Fourier transforms as products with tables of sines and cosines.

#include <cmath>
#include <numbers>

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n), with n - 1 instead of n if it is symmetric.
Results convert_cosine_window(Context& c, double a0, double a1, double a2) {
  c.require_inputs(1, 1);
  if (c.integer("output_datatype", 1) != 1) c.unsupported("another element type than float");
  const std::int64_t size = known_integer(c, 0);
  if (size < 1) c.unsupported("a window without elements");
  need_small(c, size);
  const auto period =
      static_cast<double>(c.integer("periodic", 1) != 0 ? size : std::max<std::int64_t>(1, size - 1));
  std::vector<double> values;
  for (std::int64_t i = 0; i < size; ++i) {
    const double turn = 2 * std::numbers::pi * static_cast<double>(i) / period;
    values.push_back(a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn));
  }
  return {constant_data({size}, values, c.dtype())};
}

// Cosines, or sines, of all products of a row's and a column's number, as parts of a circle.
Term circle_table(Context& c, std::int64_t rows, std::int64_t columns, std::int64_t period, bool sine,
                  double scale) {
  need_small(c, rows * columns);
  std::vector<double> values;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) {
      const double turn =
          2 * std::numbers::pi * static_cast<double>(i * j % period) / static_cast<double>(period);
      values.push_back(scale * (sine ? std::sin(turn) : std::cos(turn)));
    }
  return constant_data({rows, columns}, values, c.dtype());
}

struct Transform {
  std::int64_t length;  // of the signal; fewer given values are filled up with zeros
  bool inverse, onesided;
  std::int64_t outputs() const { return onesided && !inverse ? length / 2 + 1 : length; }
};

// x [rows, given, parts] to [rows, outputs, parts]: y = x (cos -+ i sin) along the middle axis.
Term transformed(Context& c, const Term& x, const Transform& t) {
  const Shape shape = shape_of(c, x);
  const std::int64_t rows = shape[0], parts = shape[2];
  std::int64_t given = std::min(shape[1], t.length);
  const double scale = t.inverse ? 1.0 / static_cast<double>(t.length) : 1;
  const auto part = [&](std::int64_t i) {
    return reshaped(c, sliced(c, sliced(c, x, 1, 0, given), 2, i, i + 1), {rows, given});
  };
  const auto product = [&](const Term& signal, bool sine) {
    const Term table = circle_table(c, given, t.outputs(), t.length, sine, scale);
    return apply(c, "matmul", {signal, table});
  };
  const Term real = part(0);
  Term y_real = product(real, false), y_imaginary = product(real, true);
  if (!t.inverse) y_imaginary = apply(c, "neg", {y_imaginary});
  if (parts == 2) {
    const Term imaginary = part(1), by_sine = product(imaginary, true), by_cosine = product(imaginary, false);
    y_real = apply(c, t.inverse ? "sub" : "add", {y_real, by_sine});
    y_imaginary = apply(c, "add", {y_imaginary, by_cosine});
  }
  if (t.inverse && t.onesided) return reshaped(c, y_real, {rows, t.outputs(), 1});
  return joined(
      c, {reshaped(c, y_real, {rows, t.outputs(), 1}), reshaped(c, y_imaginary, {rows, t.outputs(), 1})}, 2);
}

// Half a spectrum, whose other half mirrors it: value n - k is the conjugate of value k.
Term whole_spectrum(Context& c, const Term& half, std::int64_t length) {
  const Shape shape = shape_of(c, half);
  const std::int64_t kept = std::min(shape[1], length / 2 + 1), mirrored = length - kept;
  const Term front = sliced(c, half, 1, 0, kept);
  if (mirrored < 1) return front;
  const Term back = reversed(c, sliced(c, half, 1, 1, mirrored + 1), 1);
  const Term signs = constant_data({1, 1, 2}, std::vector<double>{1, -1}, c.dtype());
  return joined(c, {front, apply(c, "mul", {back, signs})}, 1);
}

// The last axis holds real and imaginary parts, or real ones alone.
Results convert_dft(Context& c) {
  const Term x = floats(c, input(c, 0));
  const Shape shape = shape_of(c, x);
  const int rank = shape.rank();
  const std::int64_t given_axis = c.opset() < 20   ? c.integer("axis", 1)
                                  : c.has_input(2) ? known_integer(c, 2)
                                                   : -2;
  const std::int64_t axis = axis_in(c, given_axis, rank);
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  if (rank < 2 || axis == rank - 1 || shape[rank - 1] > 2)
    c.invalid(fmt::format("axis {} of a signal {}", axis, shape.str()));
  const std::int64_t extent = shape[static_cast<int>(axis)], length = c.has_input(1) ? known_integer(c, 1)
                                                                      : inverse && onesided ? 2 * (extent - 1)
                                                                                            : extent;
  if (length < 1) c.invalid(fmt::format("a length of {}", length));
  Ints last;  // the axis next to the last one
  for (std::int64_t a = 0; a < rank - 1; ++a)
    if (a != axis) last.push_back(a);
  last.push_back(axis), last.push_back(rank - 1);
  const std::int64_t parts = shape[rank - 1], rows = shape.numel() / (extent * parts);
  Term signal = reshaped(c, transposed(c, x, last), {rows, extent, parts});
  if (inverse && onesided && parts == 2) signal = whole_spectrum(c, signal, length);
  const Term y = transformed(c, signal, {length, inverse, onesided});
  Ints dims, back(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < last.size(); ++i) {
    dims.push_back(shape[static_cast<int>(last[i])]);
    back[static_cast<std::size_t>(last[i])] = static_cast<std::int64_t>(i);
  }
  const Shape made = shape_of(c, y);
  dims[dims.size() - 2] = made[1], dims[dims.size() - 1] = made[2];
  return {transposed(c, reshaped(c, y, dims), back)};
}

}  // namespace

std::vector<Conversion> signal_conversions() {
  return {{"HannWindow", [](Context& c) { return convert_cosine_window(c, 0.5, 0.5, 0); }},
          {"HammingWindow", [](Context& c) { return convert_cosine_window(c, 25.0 / 46, 21.0 / 46, 0); }},
          {"BlackmanWindow", [](Context& c) { return convert_cosine_window(c, 0.42, 0.5, 0.08); }},
          {"DFT", convert_dft}};
}

}  // namespace headroom::onnx
