// If, Loop and Scan. A plan is a fixed list of steps: the nodes of a branch or a body replace the node, those
// of a body once for each time it runs. What the data decide at run time is selected afterwards: both
// branches of an If are computed, and a Loop runs as often as it can, each time keeping its old values if it
// had ended.
#include <algorithm>

#include "models/onnx/counted.h"
#include "models/onnx/file.h"
#include "models/onnx/lower.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom::onnx {

struct Lowerer::Body {
  const GraphProto& graph;
  std::vector<const NodeProto*> order;
};

namespace {

bool is_known_truth(const Term& term, bool value) {
  return term.known && !term.is_learned() && (term.known->integer(0) != 0) == value;
}

Term truth(bool value) { return Term(repeated_constant({}, DType::boolean, value ? 1 : 0)); }

Term as_scalar(Context& c, const Term& term) {
  if (type_of(c, term).dtype != DType::boolean || shape_of(c, term).numel() != 1)
    c.invalid("its condition is not one truth value");
  return reshaped(c, term, {});
}

Term both(Context& c, const Term& a, const Term& b) {
  if (is_known_truth(a, true) || is_known_truth(b, false)) return b;
  if (is_known_truth(b, true) || is_known_truth(a, false)) return a;
  return apply(c, "logical_and", {a, b});
}

// Results of one run after the other, along a new axis.
class Rows {
 public:
  void add(Context& c, const Term& row) {
    if (row.counted) c.unsupported("the size of a row depends on the data");
    if (!rows_.empty() && type_of(c, rows_[0]) != type_of(c, row))
      c.unsupported(
          fmt::format("its rows differ: {} and {}", shape_of(c, rows_[0]).str(), shape_of(c, row).str()));
    rows_.push_back(row);
  }
  Term stacked(Context& c, std::int64_t axis, bool reverse) const {
    if (rows_.empty()) c.unsupported("it never runs: what it stacks has no elements");
    std::vector<Term> parts;
    Ints dims = shape_of(c, rows_[0]).vector();
    axis = axis_in(c, axis, static_cast<int>(dims.size()) + 1);
    dims.insert(dims.begin() + axis, 1);
    for (const Term& row : rows_) parts.push_back(reshaped(c, row, dims));
    if (reverse) std::ranges::reverse(parts);
    return joined(c, parts, axis);
  }

 private:
  std::vector<Term> rows_;
};

// Row i of an axis, which disappears.
Term row_of(Context& c, const Term& term, std::int64_t axis, std::int64_t i) {
  Ints dims = shape_of(c, term).vector();
  dims.erase(dims.begin() + axis);
  return reshaped(c, sliced(c, term, axis, i, i + 1), dims);
}

// The largest value of a scalar that a minimum with a known number bounds.
std::optional<std::int64_t> upper_bound(const Graph& graph, ValueId id) {
  while (graph.value(id).producer != kNone) {
    const Node& node = graph.node(graph.value(id).producer);
    for (const ValueId in : node.inputs)
      if (const Value& value = graph.value(in); node.op == "minimum" && value.role == Role::constant &&
                                                value.init.data && value.init.data->count() == 1)
        return value.init.data->integer(0);
    if (!schema_of(node.op).is_view && node.op != "cast") break;
    id = node.inputs[0];
  }
  return std::nullopt;
}

// How often a Loop runs at most; `wanted` is how often its first input lets it, if the data decide.
struct Trips {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::optional<Term> wanted;

  Term let(Context& c, std::int64_t trip) const {
    return wanted ? apply(c, "less", {integers({}, {trip}), *wanted}) : truth(true);
  }
};

Trips trips_of(Context& c, const Graph& graph) {
  if (!c.has_input(0)) return {};
  if (c.is_known(0)) return {known_integer(c, 0), std::nullopt};
  const auto bound = upper_bound(graph, c.operand(0).value);
  if (!bound)
    c.unsupported(
        fmt::format("its trip count '{}' depends on the data, and nothing bounds it", c.input_name(0)));
  return {*bound, reshaped(c, input(c, 0), {})};
}

// One entry for each of `count` inputs or outputs.
Ints list_of(const Context& c, std::string_view attribute, std::size_t count) {
  const Ints list = c.integers(attribute, Ints(count, 0));
  if (list.size() != count)
    c.invalid(fmt::format("{} has {} entries, not {}", attribute, list.size(), count));
  return list;
}

}  // namespace

Lowerer::Body Lowerer::open_body(const Context& c, const NodeProto& node, std::string_view attribute) {
  for (const AttributeProto& a : node.attribute()) {
    if (a.name() != attribute || !a.has_g()) continue;
    declare(a.g());
    add_tensors(a.g());
    return {a.g(), live_order(a.g(), file_.name(), true)};
  }
  c.invalid(fmt::format("it has no {}", attribute));
}

Results Lowerer::lower_body(const Body& body, const std::vector<Operand>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    define(body.graph.input(static_cast<int>(i)).name(), inputs[i]);
  lower(body.order);
  Results results;
  for (const ValueInfoProto& output : body.graph.output()) {
    const auto it = names_.find(output.name());
    if (it == names_.end()) throw Unsupported{"it contains an operator that is not known here"};
    results.push_back(it->second);
  }
  return results;
}

void Lowerer::count_repeated(const Context& c, const Body& body, std::string_view without_end) {
  repeated_ += std::max<std::size_t>(1, body.order.size());
  if (repeated_ > kMaxRepeatedNodes)
    c.unsupported(fmt::format("{}its body of {} nodes is repeated until there are more than {} nodes",
                              without_end, body.order.size(), kMaxRepeatedNodes));
}

Term Lowerer::term_of(const Context& c, Operand operand) {
  if (operand.is_learned()) return Term(store(operand, operand.origin->name, c.layer(), Role::constant));
  Term term;
  static_cast<Operand&>(term) = std::move(operand);
  return term;
}

Term Lowerer::select(Context& c, const Term& condition, const Operand& yes, const Operand& no) {
  const Term a = term_of(c, yes), b = term_of(c, no);
  if (a.is_absent() || b.is_absent()) c.unsupported("one of its results is missing");
  if (a.value != kNone && a.value == b.value) return a;
  if (a.counted || b.counted) c.unsupported("the size of a result depends on the data");
  const TensorType first = type_of(c, a), second = type_of(c, b);
  if (first != second)
    c.unsupported(fmt::format("the data decide between {} of {} and {} of {}", first.shape.str(),
                              name_of(first.dtype), second.shape.str(), name_of(second.dtype)));
  return apply(c, "where", {condition, a, b});
}

Results Lowerer::follow(Context& c, const NodeProto& node) {
  if (c.is_own() && c.op() == "If") return follow_if(c, node);
  if (c.is_own() && c.op() == "Loop") return unroll_loop(c, node);
  if (c.is_own() && c.op() == "Scan") return unroll_scan(c, node);
  throw Unsupported{"it contains a graph"};
}

// A known condition takes one branch. Otherwise both are computed.
Results Lowerer::follow_if(Context& c, const NodeProto& node) {
  c.require_inputs(1, 1);
  const Term condition = as_scalar(c, term_of(c, c.operand(0)));
  if (condition.known)
    return lower_body(open_body(c, node, is_known_truth(condition, true) ? "then_branch" : "else_branch"),
                      {});
  const Results yes = lower_body(open_body(c, node, "then_branch"), {}),
                no = lower_body(open_body(c, node, "else_branch"), {});
  if (yes.size() != no.size()) c.invalid("its branches have different numbers of outputs");
  Results results;
  for (std::size_t i = 0; i < yes.size(); ++i) results.push_back(select(c, condition, yes[i], no[i]));
  return results;
}

// Inputs: max trip count, condition, values. The body turns trip number, condition and values into the next
// condition, the next values, and rows to stack.
Results Lowerer::unroll_loop(Context& c, const NodeProto& node) {
  const Body body = open_body(c, node, "body");
  const auto inputs = static_cast<std::size_t>(node.input_size());
  const std::size_t values = inputs < 2 ? 0 : inputs - 2;
  if (static_cast<std::size_t>(body.graph.input_size()) != values + 2 ||
      static_cast<std::size_t>(body.graph.output_size()) < values + 1)
    c.invalid(fmt::format("its body has {} inputs and {} outputs for {} values", body.graph.input_size(),
                          body.graph.output_size(), values));
  const Trips allowed = trips_of(c, graph_);
  Term active = c.has_input(1) ? as_scalar(c, term_of(c, c.operand(1))) : truth(true);
  active = both(c, active, allowed.let(c, 0));
  Term trips;  // how many there were, if the data decide
  bool by_data = false;
  std::vector<Operand> state;
  for (std::size_t i = 0; i < values; ++i) state.push_back(c.operand(i + 2));
  std::vector<Rows> rows(static_cast<std::size_t>(body.graph.output_size()) - values - 1);
  for (std::int64_t trip = 0; trip < allowed.most && !is_known_truth(active, false); ++trip) {
    if (!by_data && !active.known) by_data = true, trips = integers({}, {trip});
    count_repeated(c, body, !c.has_input(0) ? "a Loop without end: " : "");
    std::vector<Operand> given = {integers({}, {trip}), active};
    given.insert(given.end(), state.begin(), state.end());
    const Results made = lower_body(body, given);
    for (std::size_t i = 0; i < values; ++i)
      state[i] = active.known ? made[i + 1] : select(c, active, made[i + 1], state[i]);
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].add(c, term_of(c, made[values + 1 + i]));
    if (by_data) trips = apply(c, "add", {trips, cast_to(c, active, DType::i64)});
    active = both(c, both(c, active, as_scalar(c, term_of(c, made[0]))), allowed.let(c, trip + 1));
  }
  for (const Rows& one : rows) {
    const Term stacked = one.stacked(c, 0, false);
    state.push_back(by_data ? counted_by(c, stacked, 0, trips) : stacked);
  }
  return state;
}

// Inputs: values, then tensors of which the body gets a row each time. The body returns the next values, and
// rows to stack.
Results Lowerer::unroll_scan(Context& c, const NodeProto& node) {
  if (c.opset() < 9) c.unsupported("the form of operator set 8, with a batch");
  const Body body = open_body(c, node, "body");
  const auto inputs = static_cast<std::size_t>(body.graph.input_size()),
             outputs = static_cast<std::size_t>(body.graph.output_size());
  const std::int64_t read = c.integer("num_scan_inputs");
  const std::size_t scanned = read < 1 ? 0 : static_cast<std::size_t>(read);
  if (scanned == 0 || scanned > inputs || inputs != c.inputs() || outputs + scanned < inputs)
    c.invalid(fmt::format("its body has {} inputs and {} outputs; {} of its {} inputs are read row by row",
                          inputs, outputs, read, c.inputs()));
  const std::size_t values = inputs - scanned;
  const Ints axes = list_of(c, "scan_input_axes", scanned),
             ways = list_of(c, "scan_input_directions", scanned);
  std::vector<Term> from;
  Ints at;
  for (std::size_t i = 0; i < scanned; ++i) {
    from.push_back(term_of(c, c.operand(values + i)));
    at.push_back(axis_in(c, axes[i], shape_of(c, from[i]).rank()));
    if (shape_of(c, from[i])[int(at[i])] != shape_of(c, from[0])[int(at[0])])
      c.invalid("what it reads row by row has different numbers of rows");
  }
  const std::int64_t trips = shape_of(c, from[0])[int(at[0])];
  std::vector<Operand> state;
  for (std::size_t i = 0; i < values; ++i) state.push_back(c.operand(i));
  std::vector<Rows> rows(outputs - values);
  for (std::int64_t trip = 0; trip < trips; ++trip) {
    count_repeated(c, body, "");
    std::vector<Operand> given = state;
    for (std::size_t i = 0; i < scanned; ++i)
      given.push_back(row_of(c, from[i], at[i], ways[i] != 0 ? trips - 1 - trip : trip));
    const Results made = lower_body(body, given);
    for (std::size_t i = 0; i < values; ++i) state[i] = made[i];
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].add(c, term_of(c, made[values + i]));
  }
  const Ints to = list_of(c, "scan_output_axes", rows.size()),
             back = list_of(c, "scan_output_directions", rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) state.push_back(rows[i].stacked(c, to[i], back[i] != 0));
  return state;
}

}  // namespace headroom::onnx
