#pragma once

// Expressions in conversions. Results that depend only on known elements are computed at once, with the
// kernels that would run them. Shapes, masks and position tables become known elements; nodes are added only
// for results that depend on the data.

#include <functional>

#include "models/onnx/convert.h"

namespace headroom::onnx {

struct Term : Operand {
  Term() = default;
  Term(ValueId id) : Operand(id) {}                              // NOLINT(google-explicit-constructor)
  Term(ConstantData elements) : Operand(std::move(elements)) {}  // NOLINT(google-explicit-constructor)
  int input = kNone;  // its index among the node's inputs: a known one may be a parameter
};

Term input(const Context& c, std::size_t i);  // invalid if absent
std::vector<Term> all_inputs(const Context& c);

TensorType type_of(const Context& c, const Term& term);
inline Shape shape_of(const Context& c, const Term& term) { return type_of(c, term).shape; }
ValueId value_of(Context& c, const Term& term);

// Applies one of our operators to terms; returns its first output, or all.
Term apply(Context& c, std::string_view op, const std::vector<Term>& terms, const Attrs& attrs = {});
std::vector<Term> apply_all(Context& c, std::string_view op, const std::vector<Term>& terms,
                            const Attrs& attrs = {});

// A number of the term's element type, or of dtype().
Term number(const Context& c, double value);
Term number_like(const Context& c, const Term& term, double value);
Term integers(const Shape& shape, const Ints& elements);

Term reshaped(Context& c, const Term& term, const Ints& dims);  // with all extents
Term cast_to(Context& c, const Term& term, DType dtype);        // the term itself if it has that type
Term floats(Context& c, const Term& term);                      // cast_to dtype()

// A cast to a type of the file (TensorProto.DataType), which may be narrower than ours. In ops_cast.cc.
Term cast_to_type(Context& c, const Term& term, int type);

// Applies an operator to numbers of one type. Bytes and truth values are computed as int32 and cast back.
Term of_numbers(Context& c, std::string_view op, const std::vector<Term>& terms, const Attrs& attrs = {});
Term wide_integers(Context& c, const Term& term);  // bytes and truth values as int32

Term transposed(Context& c, const Term& term, const Ints& perm);
Term sliced(Context& c, const Term& term, std::int64_t axis, std::int64_t begin, std::int64_t end);
Term reversed(Context& c, const Term& term, std::int64_t axis);
Term joined(Context& c, const std::vector<Term>& parts, std::int64_t axis);  // empty parts are left out
// 0, 1, 2, … along one axis of a tensor of `rank` axes; the others have length 1.
Term positions(std::int64_t extent, std::int64_t axis, int rank);

// Unsupported for other element types: an error in a schema would stop reading the whole file.
void need_float(const Context& c, const Term& term);
void need_number(const Context& c, const Term& term);

// The only element of an input that must be known.
std::int64_t known_integer(const Context& c, std::size_t i);
// Max elements of tables made while reading; unsupported above it.
inline constexpr std::int64_t kMaxElements = std::int64_t{1} << 26;
void need_small(const Context& c, std::int64_t elements);

std::int64_t axis_in(const Context& c, std::int64_t axis, int rank);  // 0..rank-1; invalid outside
Ints axes_in(const Context& c, const Ints& axes, int rank);

}  // namespace headroom::onnx
