// Known elements as values of the graph, each stored once.
#include <cstring>

#include "models/onnx/lower.h"
#include "models/onnx/names.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

// A stable number for a constant's content: a plan for another batch may hold other numbers under its name.
std::uint64_t digest(const ConstantData& elements) {
  std::uint64_t h = 0xCBF29CE484222325ull;
  auto mix = [&](std::uint64_t v) { h = (h ^ v) * 0x100000001B3ull; };
  for (std::int64_t d : elements.type.shape.dims()) mix(static_cast<std::uint64_t>(d));
  mix(static_cast<std::uint64_t>(elements.type.dtype));
  for (std::size_t i = 0; i < elements.stored_bytes(); ++i)
    mix(static_cast<std::uint64_t>(elements.data.get()[i]));
  return h;
}

bool are_equal(const ConstantData& a, const ConstantData& b) {
  return a.type == b.type && a.stored_bytes() == b.stored_bytes() &&
         (a.data == b.data || std::memcmp(a.data.get(), b.data.get(), a.stored_bytes()) == 0);
}

}  // namespace

void Lowerer::define_stored(const std::string& name, Operand operand) {
  const auto verdict = verdicts_.find(name);
  const bool learned = verdict != verdicts_.end() && verdict->second.learned;
  const auto before = names_.find(name);  // a repeated node stores its tensor once
  if (before != names_.end() && before->second.origin && before->second.origin->name == name &&
      before->second.known && operand.known && are_equal(*before->second.known, *operand.known))
    operand.origin = before->second.origin;
  else
    operand.origin = std::make_shared<Origin>(Origin{name, learned});
  operand.value = kNone;  // a copy is not the value of its original
  define(name, std::move(operand));
}

// Storage reserves some names and has one entry per name.
std::string Lowerer::stored_name(const std::string& wanted) {
  const std::string base = printable(wanted);
  const bool taken =
      base.empty() || base == kStep || base == "learning_rate" || base == "tally" || base == "one";
  return unique_name(stored_, taken ? "onnx." + base : base, base);
}

ValueId Lowerer::store(Operand& operand, const std::string& name, const std::string& layer, Role of_floats) {
  if (operand.value != kNone) return operand.value;
  if (operand.origin) {
    Origin& origin = *operand.origin;
    Operand plain(*operand.known);
    if (origin.value == kNone)
      origin.value = origin.learned ? store(plain, origin.name, layer, Role::parameter)
                                    : store_constant(*operand.known, origin.name, layer);
    return operand.value = origin.value;
  }
  const ConstantData& elements = *operand.known;
  if (!is_float(elements.type.dtype) || of_floats == Role::constant) {
    const std::string key = fmt::format("{}@{:x}", name, digest(elements));
    const auto [known, is_new] = constants_.try_emplace(key, kNone);
    if (is_new) known->second = store_constant(elements, key, layer);
    return operand.value = known->second;
  }
  if (elements.count() == 0) reject("{}: tensor '{}' has no elements", layer, name);
  return operand.value =
             graph_.add_value({.name = stored_name(name),
                               .type = {elements.type.shape, how_.dtype},
                               .role = of_floats,
                               .producer = kNone,
                               .init = {.kind = Initializer::Kind::from_data,
                                        .data = std::make_shared<const ConstantData>(elements)},
                               .layer = layer,
                               .penalized = of_floats == Role::parameter && elements.type.shape.rank() >= 2});
}

ValueId Lowerer::store_weights(Operand& operand, const std::string& name, const std::string& layer) {
  ValueId& value = operand.origin ? operand.origin->value : operand.value;
  if (value == kNone) value = store_constant(*operand.known, name, layer, Role::parameter);
  return operand.value = value;
}

ValueId Lowerer::store_constant(const ConstantData& elements, const std::string& name,
                                const std::string& layer, Role role) {
  if (elements.count() == 0) reject("{}: tensor '{}' has no elements", layer, name);
  const DType dtype = is_float(elements.type.dtype) ? how_.dtype : elements.type.dtype;
  return graph_.add_value(
      {.name = stored_name(name),
       .type = {elements.type.shape, dtype},
       .role = role,
       .producer = kNone,
       .init = {.kind = Initializer::Kind::from_data, .data = std::make_shared<const ConstantData>(elements)},
       .layer = layer});
}

}  // namespace headroom::onnx
