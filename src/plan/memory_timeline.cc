#include "plan/memory_timeline.h"

#include <algorithm>
#include <numeric>

#include "plan/lifetimes.h"

namespace headroom {
namespace {

// Which steps read or write the memory of a value.
struct MemoryUse {
  bool update = false, other = false;
};

std::vector<MemoryUse> memory_uses(const Plan& plan, const Homes& homes) {
  std::vector<MemoryUse> uses(plan.graph.values().size());
  for (const Step& step : plan.steps) {
    const Node& node = plan.graph.node(step.node);
    for (const auto* list : {&node.inputs, &node.outputs})
      for (ValueId id : *list) {
        MemoryUse& use = uses[static_cast<std::size_t>(homes.owner[static_cast<std::size_t>(id)])];
        (step.phase == Phase::update ? use.update : use.other) = true;
      }
  }
  return uses;
}

MemoryKind stored_kind(Role role, MemoryUse use) {
  if (role == Role::parameter) return MemoryKind::parameters;
  if (role == Role::state && use.update && !use.other) return MemoryKind::optimizer_state;
  return MemoryKind::other_state;
}

MemoryTimeline::Piece timeline_piece(const Plan& plan, const ArenaPiece& from) {
  const std::string& layer =
      plan.graph.node(plan.steps[static_cast<std::size_t>(from.life.first)].node).layer;
  MemoryTimeline::Piece piece{.name = {},
                              .layer = layer,
                              .kind = MemoryKind::workspace,
                              .bytes = static_cast<std::int64_t>(from.life.bytes),
                              .first = from.life.first,
                              .last_use = from.last_use,
                              .last = from.life.last};
  if (from.value == kNone) {
    piece.name = fmt::format("workspace of step {}", from.life.first);
    return piece;
  }
  const Value& value = plan.graph.value(from.value);
  piece.name = value.name;
  piece.kind = value.role == Role::gradient ? MemoryKind::gradients : MemoryKind::activations;
  return piece;
}

// Adds the bytes to all steps of the piece's life. `changes` has the bytes that begin at a step, minus those
// that ended before it.
void add_life(std::vector<MemoryBytes>& changes, const MemoryTimeline::Piece& piece) {
  changes[static_cast<std::size_t>(piece.first)][piece.kind] += piece.bytes;
  const auto after = static_cast<std::size_t>(piece.last) + 1;
  if (after < changes.size()) changes[after][piece.kind] -= piece.bytes;
}

void add_to_layer(MemoryTimeline& timeline, const std::string& layer, MemoryKind kind, std::int64_t bytes) {
  auto it = std::ranges::find(timeline.layers, layer, &MemoryTimeline::Layer::layer);
  if (it == timeline.layers.end()) it = timeline.layers.insert(it, {layer, {}});
  it->bytes[kind] += bytes;
}

// Parameters, state and inputs: the same in every step.
MemoryBytes add_constant_part(MemoryTimeline& timeline, const Plan& plan, const Homes& homes) {
  MemoryBytes constant;
  const std::vector<MemoryUse> uses = memory_uses(plan, homes);
  for (std::size_t id = 0; id < uses.size(); ++id) {
    const Value& value = plan.graph.values()[id];
    const bool is_input = value.role == Role::input && (uses[id].update || uses[id].other);
    const bool is_stored = lives_in_storage(value.role) && value.producer == kNone;
    if (!is_input && !is_stored) continue;
    const MemoryKind kind = is_input ? MemoryKind::inputs : stored_kind(value.role, uses[id]);
    constant[kind] += value.type.bytes();
    add_to_layer(timeline, value.layer, kind, value.type.bytes());
  }
  return constant;
}

}  // namespace

std::string_view name_of(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::parameters:
      return "parameters";
    case MemoryKind::optimizer_state:
      return "optimizer_state";
    case MemoryKind::other_state:
      return "other_state";
    case MemoryKind::inputs:
      return "inputs";
    case MemoryKind::activations:
      return "activations";
    case MemoryKind::gradients:
      return "gradients";
    case MemoryKind::workspace:
      return "workspace";
  }
  return "";
}

std::int64_t MemoryBytes::total() const { return std::accumulate(of.begin(), of.end(), std::int64_t{0}); }

std::int64_t MemoryBytes::arena() const {
  std::int64_t bytes = 0;
  for (MemoryKind kind : kArenaKinds) bytes += (*this)[kind];
  return bytes;
}

MemoryTimeline memory_timeline(const Plan& plan) {
  MemoryTimeline timeline{.arena_bytes = static_cast<std::int64_t>(plan.arena_bytes)};
  for (const Step& step : plan.steps)  // sets the order of the layers
    add_to_layer(timeline, plan.graph.node(step.node).layer, MemoryKind::workspace, 0);
  const Homes homes = homes_of(plan.graph);
  const MemoryBytes constant = add_constant_part(timeline, plan, homes);
  std::vector<MemoryTimeline::Piece> pieces;
  for (const ArenaPiece& piece : arena_pieces(plan, homes)) pieces.push_back(timeline_piece(plan, piece));

  timeline.steps.resize(plan.steps.size());
  for (const MemoryTimeline::Piece& piece : pieces) add_life(timeline.steps, piece);
  MemoryBytes now = constant;
  for (std::size_t s = 0; s < timeline.steps.size(); ++s) {
    for (MemoryKind kind : kMemoryKinds) now[kind] += timeline.steps[s][kind];
    timeline.steps[s] = now;
    if (timeline.peak_step == kNone || now.total() > timeline.peak.total())
      timeline.peak_step = static_cast<int>(s), timeline.peak = now;
  }
  if (plan.steps.empty()) timeline.peak = constant;
  for (const MemoryTimeline::Piece& piece : pieces) {
    if (timeline.peak_step < piece.first || piece.last < timeline.peak_step) continue;
    timeline.alive.push_back(piece);
    add_to_layer(timeline, piece.layer, piece.kind, piece.bytes);
  }
  std::ranges::stable_sort(timeline.alive, std::ranges::greater{}, &MemoryTimeline::Piece::bytes);
  std::erase_if(timeline.layers, [](const auto& layer) { return layer.bytes.total() == 0; });
  return timeline;
}

}  // namespace headroom
