#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_cases_cc {
namespace {

struct Trial {
  Tier tier;
  std::int64_t seq, batch, input, hidden;
  const char* direction;
  bool bias = true, initial = false, other = false;  // other: linear_before_reset, or relu
  bool lengths = false;
  bool dy = true, dy_h = false, dy_c = false, dx = true;  // of the gradient
};

// Every part with and without every other one somewhere; hidden sizes that fill vectors and that do not.
std::vector<Trial> trials() {
  return {{Tier::ci, 1, 1, 1, 1, "forward", false},
          {Tier::ci, 1, 2, 3, 4, "forward", true, true, true, false, true, true, true},
          {Tier::ci, 5, 3, 4, 6, "forward"},
          {Tier::ci, 5, 3, 4, 6, "forward", true, true, false, false, false, true, false},
          {Tier::ci, 4, 2, 3, 5, "reverse", true, false, true, false, true, false, true, false},
          {Tier::ci, 4, 2, 3, 5, "reverse", false, true, false, false, false, false, true},
          {Tier::ci, 3, 2, 3, 18, "forward", false, false, true, false, false, true, true},
          {Tier::ci, 6, 2, 7, 3, "bidirectional", true, true, true, false, true, true, true},
          {Tier::ci, 4, 2, 3, 5, "bidirectional", false, false, false, false, true, true, false, false},
          {Tier::ci, 5, 4, 3, 4, "forward", true, true, false, true, true, true, true},
          {Tier::ci, 5, 4, 3, 4, "reverse", true, true, true, true, true, true, true},
          {Tier::ci, 4, 5, 2, 17, "bidirectional", false, false, true, true, true, true},
          {Tier::smoke, 3, 4, 33, 40, "bidirectional", true, true, false, false, true, true, true},
          {Tier::smoke, 3, 7, 20, 40, "bidirectional", true, true, true, true, true, true, true},
          {Tier::smoke, 3, 1, 70, 65, "forward", true, false, true},
          {Tier::perf, 64, 16, 256, 256, "forward"},
          {Tier::perf, 100, 64, 512, 512, "forward"},
          {Tier::perf, 128, 1, 512, 512, "bidirectional"}};
}

std::int64_t gates_of(CellKind kind) { return kind == CellKind::lstm ? 4 : kind == CellKind::gru ? 3 : 1; }
std::int64_t dirs_of(const Trial& t) { return t.direction == std::string_view("bidirectional") ? 2 : 1; }

Attrs attributes(CellKind kind, const Trial& t) {
  Attrs attrs{{"hidden_size", t.hidden}, {"direction", std::string(t.direction)}};
  if (t.initial) attrs.set("initial", std::int64_t{1});
  if (t.lengths) attrs.set("lengths", std::int64_t{1});
  if (t.other && kind == CellKind::gru) attrs.set("linear_before_reset", std::int64_t{1});
  if (t.other && kind == CellKind::rnn) attrs.set("activation", std::string("relu"));
  return attrs;
}

// X, W and R.
Case begun(CellKind kind, const Trial& t) {
  const std::int64_t dirs = dirs_of(t), rows = gates_of(kind) * t.hidden;
  return {.tier = t.tier,
          .inputs = {{t.seq, t.batch, t.input}, {dirs, rows, t.input}, {dirs, rows, t.hidden}},
          .attrs = attributes(kind, t)};
}

void add_states(Case& c, CellKind kind, const Trial& t) {
  const int states = kind == CellKind::lstm ? 2 : 1;
  for (int i = 0; t.initial && i < states; ++i) c.inputs.push_back({dirs_of(t), t.batch, t.hidden});
}

// From 0 to all steps: int32, or int64 where both directions run.
void add_lengths(Case& c, const Trial& t) {
  if (!t.lengths) return;
  c.fills.resize(c.inputs.size());
  c.fills.push_back({Fill::Kind::label, static_cast<double>(t.seq + 1)});
  c.inputs.push_back({t.batch});
  if (dirs_of(t) == 1) return;
  c.dtypes.resize(c.inputs.size());
  c.dtypes.back() = DType::i64;
}

}  // namespace
}  // namespace recurrent_cases_cc

std::vector<Case> recurrent_cases(CellKind kind) {
  using namespace recurrent_cases_cc;
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Case c = begun(kind, t);
    if (t.bias) c.inputs.push_back({dirs_of(t), 2 * gates_of(kind) * t.hidden});
    add_states(c, kind, t);
    add_lengths(c, t);
    list.push_back(c);
    if (kind == CellKind::rnn || t.tier == Tier::perf) continue;
    c.attrs.set("saves", std::int64_t{1});
    list.push_back(c);
  }
  return list;
}

std::vector<Case> recurrent_grad_cases(CellKind kind) {
  using namespace recurrent_cases_cc;
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Case c = begun(kind, t);
    const Shape state{dirs_of(t), t.batch, t.hidden}, y{t.seq, dirs_of(t), t.batch, t.hidden};
    const bool dy_c = t.dy_c && kind == CellKind::lstm, dy = t.dy || (!t.dy_h && !dy_c);
    const std::int64_t parts = kind == CellKind::lstm ? 5 : kind == CellKind::rnn ? 0 : t.other ? 4 : 3;
    c.inputs.push_back(y);
    if (parts > 0) {  // gates are positive
      c.fills.resize(c.inputs.size());
      c.fills.push_back({Fill::Kind::positive});
      c.inputs.push_back({dirs_of(t), t.seq, t.batch, parts * t.hidden});
      c.attrs.set("saves", std::int64_t{1});
    }
    add_states(c, kind, t);
    const auto give = [&](bool given, const char* name, const Shape& shape) {
      if (!given) return;
      c.inputs.push_back(shape);
      c.attrs.set(name, std::int64_t{1});
    };
    give(dy, "dy", y);
    give(t.dy_h, "dy_h", state);
    give(dy_c, "dy_c", state);
    if (t.bias) c.attrs.set("bias", std::int64_t{1});
    if (t.dx) c.attrs.set("dx", std::int64_t{1});
    add_lengths(c, t);
    list.push_back(c);
  }
  return list;
}

}  // namespace headroom
