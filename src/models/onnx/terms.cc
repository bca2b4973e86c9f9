#include "models/onnx/terms.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "device/device.h"
#include "ops/operator.h"

namespace headroom::onnx {
namespace {

// The CPU computes in fp32 and fp64.
DType folded_dtype(const Context& c, DType dtype) { return is_float(dtype) ? master_of(c.dtype()) : dtype; }

// Kernels need only the alignment of a number; a whole cache line costs nothing.
struct alignas(64) Line {
  std::byte bytes[64];
};
using Memory = std::shared_ptr<Line[]>;
Memory memory_for(std::size_t bytes) { return Memory(new Line[bytes / sizeof(Line) + 1]); }

ConstantData as_constant(const TensorType& type, const Memory& memory) {
  return {type, {memory, memory[0].bytes}};
}

// Floats are computed in the graph's type, but in fp64 if all of them are: those are converted integers.
Problem problem_of(const Context& c, std::string_view op, const std::vector<Term>& terms,
                   const Attrs& attrs) {
  Problem p{.op = std::string(op), .inputs = {}, .outputs = {}, .attrs = attrs};
  const bool wide = std::all_of(terms.begin(), terms.end(), [](const Term& term) {
    return !is_float(term.known->type.dtype) || term.known->type.dtype == DType::f64;
  });
  for (const Term& term : terms) {
    const TensorType& type = term.known->type;
    p.inputs.push_back({type.shape, wide ? type.dtype : folded_dtype(c, type.dtype)});
  }
  p.outputs = schema_of(op).infer(p.inputs, attrs);
  return p;
}

const Kernel* cpu_kernel_for(const Problem& p, const Target& cpu) {
  for (const Kernel& kernel : operator_of(p.op).kernels)
    if (kernel.device == DeviceKind::cpu && kernel.prepare != nullptr && kernel.accepts(p, cpu).ok)
      return &kernel;
  return nullptr;
}

std::vector<Term> run(const Problem& p, const std::vector<Term>& terms, const Kernel& kernel,
                      const Target& cpu) {
  std::vector<Memory> in, out;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    in.push_back(memory_for(static_cast<std::size_t>(p.inputs[i].bytes())));
    terms[i].known->convert(p.inputs[i].dtype, in[i].get());
    from.push_back(in[i].get());
  }
  std::vector<Term> results;
  for (const TensorType& type : p.outputs) {
    out.push_back(memory_for(static_cast<std::size_t>(type.bytes())));
    to.push_back(out.back().get());
    results.emplace_back(as_constant(type, out.back()));
  }
  const Memory scratch = memory_for(kernel.workspace ? kernel.workspace(p, cpu) : 0);
  kernel.prepare(p, {.target = cpu})({from.data(), to.data(), scratch.get(), nullptr});
  return results;
}

bool is_one_number(const ConstantData& g) { return g.repeated || g.count() == 1; }

// Nothing to compute: another shape for the same elements, or one repeated element.
std::optional<Term> relabelled(const Problem& p, const std::vector<Term>& terms) {
  ConstantData g = *terms[0].known;
  const bool stretches = p.op == "expand" && p.attrs.real("scale", 1) == 1 && is_one_number(g);
  if (!schema_of(p.op).is_view && !stretches) return std::nullopt;
  g.type.shape = p.outputs[0].shape;
  g.repeated = g.repeated || stretches;
  return Term(g);
}

std::optional<std::vector<Term>> folded(const Context& c, std::string_view op, const std::vector<Term>& terms,
                                        const Attrs& attrs) {
  for (const Term& term : terms)
    if (!term.known || term.is_learned()) return std::nullopt;
  const Problem p = problem_of(c, op, terms, attrs);
  if (auto same = relabelled(p, terms)) return std::vector<Term>{*same};
  for (const TensorType& type : p.outputs)
    if (type.shape.numel() > kMaxElements) return std::nullopt;  // left to the run
  const Target cpu = cpu_capabilities();
  const Kernel* kernel = cpu_kernel_for(p, cpu);
  if (kernel == nullptr) return std::nullopt;
  return run(p, terms, *kernel, cpu);
}

}  // namespace

Term input(const Context& c, std::size_t i) {
  if (!c.has_input(i)) c.invalid(fmt::format("its input {} is missing", i));
  Term term;
  static_cast<Operand&>(term) = c.operand(i);
  term.input = static_cast<int>(i);
  return term;
}

std::vector<Term> all_inputs(const Context& c) {
  std::vector<Term> list;
  for (std::size_t i = 0; i < c.inputs(); ++i) list.push_back(input(c, i));
  return list;
}

TensorType type_of(const Context& c, const Term& term) {
  if (!term.known) return c.type_of(term.value);
  TensorType type = term.known->type;
  if (is_float(type.dtype)) type.dtype = c.dtype();
  return type;
}

ValueId value_of(Context& c, const Term& term) {
  if (term.input != kNone) return c.value(static_cast<std::size_t>(term.input));
  if (!term.known) return term.value;
  ConstantData g = *term.known;
  // Constants have the graph's float type.
  if (is_float(g.type.dtype) && g.type.dtype != c.dtype() && !is_16bit(c.dtype())) {
    const TensorType type{g.type.shape, c.dtype()};
    if (g.repeated) return c.constant(repeated_constant(type.shape, type.dtype, g.real(0)));
    const Memory memory = memory_for(static_cast<std::size_t>(type.bytes()));
    g.convert(type.dtype, memory.get());
    g = as_constant(type, memory);
  }
  return c.constant(g);
}

std::vector<Term> apply_all(Context& c, std::string_view op, const std::vector<Term>& terms,
                            const Attrs& attrs) {
  for (const Term& term : terms)
    if (type_of(c, term).shape.numel() == 0) c.unsupported(fmt::format("{} of an empty tensor", op));
  if (auto known = folded(c, op, terms, attrs)) return *known;
  std::vector<ValueId> values;
  for (const Term& term : terms) values.push_back(value_of(c, term));
  std::vector<Term> results;
  for (ValueId id : c.emit_all(op, std::move(values), attrs)) results.emplace_back(id);
  return results;
}

Term apply(Context& c, std::string_view op, const std::vector<Term>& terms, const Attrs& attrs) {
  return apply_all(c, op, terms, attrs).at(0);
}

Term number(const Context& c, double value) { return repeated_constant({}, master_of(c.dtype()), value); }

Term number_like(const Context& c, const Term& term, double value) {
  return repeated_constant({}, folded_dtype(c, type_of(c, term).dtype), value);
}

Term integers(const Shape& shape, const Ints& elements) { return constant_data(shape, elements); }

Term reshaped(Context& c, const Term& term, const Ints& dims) {
  if (shape_of(c, term).vector() == dims) return term;
  if (!dims.empty()) return apply(c, "reshape", {term}, {{"shape", dims}});
  Ints all(static_cast<std::size_t>(shape_of(c, term).rank()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  return apply(c, "squeeze", {term}, {{"axes", all}});
}

Term cast_to(Context& c, const Term& term, DType dtype) {
  if (type_of(c, term).dtype == dtype) return term;
  if (term.known && shape_of(c, term).numel() == 0) {
    ConstantData g = *term.known;
    g.type.dtype = dtype;
    return g;
  }
  // Known 16-bit floats are kept wider until they become a value.
  const DType to = term.known ? folded_dtype(c, dtype) : dtype;
  return apply(c, "cast", {term}, {{"to", std::string(name_of(to))}});
}

Term floats(Context& c, const Term& term) { return cast_to(c, term, c.dtype()); }

Term wide_integers(Context& c, const Term& term) {
  const DType dtype = type_of(c, term).dtype;
  return dtype == DType::u8 || dtype == DType::boolean ? cast_to(c, term, DType::i32) : term;
}

Term of_numbers(Context& c, std::string_view op, const std::vector<Term>& terms, const Attrs& attrs) {
  std::vector<Term> wide;
  for (const Term& term : terms) wide.push_back(wide_integers(c, term));
  for (const Term& term : wide) need_number(c, term);
  return cast_to(c, apply(c, op, wide, attrs), type_of(c, terms[0]).dtype);
}

Term transposed(Context& c, const Term& term, const Ints& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return term;
  return apply(c, "transpose", {term}, {{"perm", perm}});
}

Term sliced(Context& c, const Term& term, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  if (begin == 0 && end == shape_of(c, term)[static_cast<int>(axis)]) return term;
  return apply(c, "slice", {term},
               {{"starts", Ints{begin}}, {"ends", Ints{end}}, {"axes", Ints{axis}}, {"steps", Ints{1}}});
}

Term reversed(Context& c, const Term& term, std::int64_t axis) {
  const std::int64_t extent = shape_of(c, term)[static_cast<int>(axis)];
  return apply(
      c, "slice", {term},
      {{"starts", Ints{extent - 1}}, {"ends", Ints{-extent - 1}}, {"axes", Ints{axis}}, {"steps", Ints{-1}}});
}

Term joined(Context& c, const std::vector<Term>& parts, std::int64_t axis) {
  std::vector<Term> full;
  for (const Term& part : parts)
    if (shape_of(c, part).numel() > 0) full.push_back(part);
  if (full.empty()) return parts.at(0);
  return full.size() == 1 ? full[0] : apply(c, "concat", full, {{"axis", axis}});
}

Term positions(std::int64_t extent, std::int64_t axis, int rank) {
  Ints dims(static_cast<std::size_t>(rank), 1), list(static_cast<std::size_t>(extent));
  dims.at(static_cast<std::size_t>(axis)) = extent;
  std::iota(list.begin(), list.end(), std::int64_t{0});
  return integers(Shape(dims), list);
}

void need_float(const Context& c, const Term& term) {
  if (const DType dtype = type_of(c, term).dtype; !is_float(dtype))
    c.unsupported(fmt::format("it computes on floating point here, not on {}", name_of(dtype)));
}

void need_number(const Context& c, const Term& term) {
  if (const DType dtype = type_of(c, term).dtype;
      !is_float(dtype) && dtype != DType::i64 && dtype != DType::i32)
    c.unsupported(fmt::format("no arithmetic on {}", name_of(dtype)));
}

std::int64_t known_integer(const Context& c, std::size_t i) {
  if (c.known(i).count() != 1) c.invalid(fmt::format("its input {} is not one number", i));
  return c.known(i).integer(0);
}

void need_small(const Context& c, std::int64_t elements) {
  if (elements > kMaxElements) c.unsupported(fmt::format("a table of {} elements", elements));
}

std::int64_t axis_in(const Context& c, std::int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) c.invalid(fmt::format("axis {} of {} axes", axis, rank));
  return axis < 0 ? axis + rank : axis;
}

Ints axes_in(const Context& c, const Ints& axes, int rank) {
  Ints list;
  for (std::int64_t axis : axes) list.push_back(axis_in(c, axis, rank));
  Ints sorted = list;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) c.invalid("an axis is named twice");
  return list;
}

}  // namespace headroom::onnx
