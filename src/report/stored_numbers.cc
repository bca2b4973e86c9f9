#include "report/stored_numbers.h"

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "models/onnx/imported.h"
#include "models/onnx/learned.h"

namespace headroom {

StoredNumbers stored_numbers(const Net& net, const Graph& forward) {
  StoredNumbers numbers;
  for (const Role role : {Role::parameter, Role::state})
    for (const ValueId id : forward.with_role(role))
      if (const Value& value = forward.value(id); value.producer == kNone)
        (role == Role::parameter ? numbers.parameters : numbers.buffers) += value.type.shape.numel();
  if (!net.imported) return numbers;
  numbers.buffers = 0;  // the file tells of all of them
  for (const auto& [name, verdict] : net.imported->tensors()) {
    const std::int64_t count = verdict.type.shape.numel();
    if (!verdict.learned)
      numbers.buffers += count;
    else if (forward.find(name) == kNone)
      numbers.unreached += count;
  }
  numbers.parameters += numbers.unreached;
  return numbers;
}

std::string stored_text(const StoredNumbers& numbers) {
  std::string text = with_commas(numbers.parameters);
  if (numbers.unreached > 0)
    text += fmt::format(" ({} of nodes that are not reached)", with_commas(numbers.unreached));
  if (numbers.buffers > 0) text += fmt::format(", and {} in buffers", counted(numbers.buffers, "number"));
  return text;
}

void add_stored_numbers(Json& json, const StoredNumbers& numbers) {
  json["parameters"] = numbers.parameters;
  json["unreached_parameters"] = numbers.unreached;
  json["buffers"] = numbers.buffers;
}

}  // namespace headroom
