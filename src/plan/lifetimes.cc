#include "plan/lifetimes.h"

#include <algorithm>
#include <numeric>

#include "plan/streams.h"

namespace headroom {

bool lives_in_storage(Role role) {
  return role == Role::parameter || role == Role::state || role == Role::constant || role == Role::scalar;
}

Homes homes_of(const Graph& graph) {
  Homes homes{std::vector<ValueId>(graph.values().size()),
              std::vector<std::size_t>(graph.values().size(), 0)};
  std::iota(homes.owner.begin(), homes.owner.end(), 0);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    const OpSchema& schema = schema_of(node.op);
    if (!schema.is_view && !schema.aliases) continue;
    const Problem problem = graph.problem(static_cast<NodeId>(n));
    const std::vector<int> aliases = schema.is_view ? std::vector<int>{0} : schema.aliases(problem);
    for (std::size_t i = 0; i < aliases.size() && i < node.outputs.size(); ++i) {
      if (aliases[i] < 0) continue;
      const auto from = static_cast<std::size_t>(node.inputs[static_cast<std::size_t>(aliases[i])]),
                 to = static_cast<std::size_t>(node.outputs[i]);
      homes.owner[to] = homes.owner[from];
      homes.shift[to] = homes.shift[from];
      if (schema.view_offset != nullptr)
        homes.shift[to] +=
            static_cast<std::size_t>(schema.view_offset(problem)) * size_of(problem.inputs[0].dtype);
    }
  }
  return homes;
}

std::vector<ArenaPiece> arena_pieces(const Plan& plan, const Homes& homes) {
  const Graph& graph = plan.graph;
  std::vector<ArenaPiece> values(graph.values().size());  // by owner; value kNone: not touched
  for (ArenaPiece& piece : values) piece.value = kNone;
  const int end = static_cast<int>(plan.steps.size()), join = join_of(plan);
  const auto step_at = [&](int s) -> const Step& { return plan.steps[static_cast<std::size_t>(s)]; };
  const auto over = [&](int s) { return step_at(s).stream == 0 ? s : std::max(s, join - 1); };
  const auto touch = [&](ValueId id, int step, int until) {
    const ValueId own = homes.owner[static_cast<std::size_t>(id)];
    const Value& value = graph.value(own);
    if (value.role == Role::input || lives_in_storage(value.role)) return;
    ArenaPiece& piece = values[static_cast<std::size_t>(own)];
    if (piece.value == kNone)
      piece = {own, {static_cast<std::size_t>(value.type.bytes()), step, until}, step};
    piece.life.first = std::min(piece.life.first, step);
    piece.life.last = std::max(piece.life.last, until);
    piece.last_use = std::max(piece.last_use, step);
  };
  for (int s = 0; s < end; ++s) {
    const Node& node = graph.node(step_at(s).node);
    for (ValueId id : node.inputs) touch(id, s, over(s));
    for (ValueId id : node.outputs) touch(id, s, over(s));
  }
  for (ValueId id : graph.outputs) touch(id, end, end);  // read after the run

  std::vector<ArenaPiece> pieces;
  for (const ArenaPiece& piece : values)
    if (piece.value != kNone) pieces.push_back(piece);
  for (int s = 0; s < end; ++s)
    if (step_at(s).workspace > 0) pieces.push_back({kNone, {step_at(s).workspace, s, over(s)}, s});
  return pieces;
}

}  // namespace headroom
