// From a network to the graph for planning: the passes, in order, by name.
#include "train/program.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>

#include "base/text.h"
#include "graph/autodiff.h"
#include "models/layers.h"
#include "passes/passes.h"
#include "train/freeze.h"
#include "train/fusions.h"
#include "train/loss.h"

namespace headroom {
namespace {

Shape batched(const Net& net, std::int64_t batch) {
  std::vector<std::int64_t> dims = {batch};
  dims.insert(dims.end(), net.input.begin(), net.input.end());
  return Shape(dims);
}

// fp16 cannot hold values below 6e-8, and gradients of a mean over a batch soon get that small, so they are
// scaled by this. A power of two causes no rounding, and 2^12 times a gradient of 16 is still in range.
double gradient_scale(DType dtype) { return dtype == DType::f16 ? 4096 : 1; }

// The state of a program between passes.
struct Building {
  const Net& net;
  const BuildRequest& request;
  std::int64_t batch;
  Program program = {};
  std::map<ValueId, ValueId> gradients = {};  // of parameters
  std::set<std::string> frozen = {};          // parameters and statistics that stay as they are

  bool trains() const { return request.mode == Mode::train; }
  bool differentiates() const { return trains() || request.mode == Mode::gradients; }
  bool on_cpu() const { return request.target.device.kind == DeviceKind::cpu; }
  bool on_gpu() const { return request.target.device.kind == DeviceKind::cuda; }
  bool for_device() const { return request.fusion == Fusion::device; }
  const Distribution& ranks() const { return request.target.ranks; }
  bool spread() const { return trains() && ranks().ranks() > 1; }
  bool accumulates() const { return trains() && request.accumulate != Accumulate::none; }
  bool partial() const { return spread() || accumulates(); }  // the batch is larger than what is here
  bool narrow() const { return is_16bit(request.precision); }
  Graph& graph() { return program.graph; }
};

void lower_network(Building& b) {
  const Lowering how{.dtype = master_of(b.request.precision),
                     .training = b.differentiates(),
                     .seed = b.request.seed,
                     .first_item = b.request.first_item,
                     .items = b.batch,
                     .global_batch = b.request.global_batch,
                     .fed_by_loader = b.trains() || b.request.mode == Mode::eval || b.request.fed_by_loader};
  Program& p = b.program;
  if (b.net.imported) {  // inputs and outputs in the file's number and types
    Lowered from = b.net.imported->lower(p.graph, b.batch, how);
    p.images = from.images, p.logits = from.logits;
    p.inputs = std::move(from.inputs), p.outputs = std::move(from.outputs);
    p.unknown = std::move(from.unknown), p.unreached = std::move(from.unreached),
    p.ends = std::move(from.ends);
    return;
  }
  p.images =
      p.graph.add_value({.name = "images",
                         .type = {batched(b.net, b.batch), reads_tokens(b.net) ? DType::i32 : how.dtype},
                         .role = Role::input,
                         .producer = kNone,
                         .init = {},
                         .layer = {}});
  p.logits = lower(b.net, p.graph, p.images, how);
  p.inputs = {{"input", p.images}};
  p.outputs = {{b.net.layers.back().name, p.logits}};
}

void freeze_pass(Building& b) {
  b.frozen = frozen_names(b.graph(), b.request.update.freeze);
  freeze(b.graph(), b.frozen);
}

void split_layers(Building& b) {
  if (b.net.imported)
    reject(Hint{"take `parallel` data"}, "the layers of a network from a file cannot be split among ranks");
  if (split_linears(b.graph(), b.ranks()) == 0)
    reject(Hint{"take `parallel` data"},
           "network '{}' has no two consecutive linear layers of {} units or more to split among {} ranks",
           b.net.name, b.ranks().model_parts, b.ranks().model_parts);
}

void share_norms(Building& b) {
  if (b.narrow())
    reject(Hint{"take `precision` fp32 or tf32"}, "`sync-bn` does not work in {}",
           name_of(b.request.precision));
  sync_norms(b.graph(), b.request.global_batch);
}

void narrow_types(Building& b) {
  Program& p = b.program;
  const double scale = gradient_scale(b.request.precision);
  Graph16Bit narrow = to_16bit(p.graph, b.request.precision, scale);
  std::map<ValueId, ValueId> widened;  // results become fp32 again
  auto now = [&](ValueId& id) {
    if (id != kNone) id = narrow.value[static_cast<std::size_t>(id)];
  };
  auto wide = [&](ValueId& id) {
    if (id == kNone) return;
    now(id);
    const auto [it, fresh] = widened.try_emplace(id, kNone);
    if (fresh) it->second = as_fp32(narrow.graph, id, kLossLayer, scale);
    id = it->second;
  };
  now(p.images), wide(p.logits);
  for (Port& port : p.inputs) now(port.value);
  for (Port& port : p.outputs) wide(port.value), now(port.count);
  for (ValueId& id : p.ends) now(id);
  p.graph = std::move(narrow.graph);
}

void add_loss_pass(Building& b) {
  require_complete(b.program, b.net);
  require_one_input(b.program, b.net);
  add_loss(b.program, b.net, b.batch, b.partial() ? b.request.global_batch : 0,
           b.trains() ? b.request.label_smoothing : 0);
}

// Steps of 8-bit integers have no gradient.
void require_float_parameters(const Graph& graph, const Net& net) {
  for (const ValueId id : graph.with_role(Role::parameter)) {
    const Value& value = graph.value(id);
    if (!is_float(value.type.dtype))
      reject(
          Hint{"train the network before it is quantised; this one can be run, evaluated and predicted with "
               "`mode` eval"},
          "network '{}' cannot be trained: layer '{}' holds quantised weights ('{}', {})", net.name,
          value.layer, value.name, name_of(value.type.dtype));
  }
}

void differentiate_pass(Building& b) {
  Program& p = b.program;
  Graph& graph = p.graph;
  require_complete(p, b.net);  // a node may be known in evaluation and not in training
  require_float_parameters(graph, b.net);
  std::vector<ValueId> wanted = graph.with_role(Role::parameter);
  if (!b.trains()) {
    if (b.request.image_gradients) wanted.push_back(p.images);
    for (const auto& [value, gradient] : differentiate(graph, p.logits, wanted, p.logits)) {
      graph.value(gradient).name = graph.value(value).name + ".gradient";
      graph.outputs.push_back(gradient);
    }
    return;
  }
  const ValueId data_loss = p.loss;  // the penalty's gradient is part of the update
  const Update& update = b.request.update;
  const bool counted_later = b.request.accumulate == Accumulate::collect;
  const double l2 = penalty_in_loss(update) && !counted_later ? update.l2 : 0;
  if (b.spread())
    add_ranks_report(p, l2, b.ranks());
  else
    add_penalty(p, l2);
  std::erase_if(wanted, [&](ValueId id) { return b.frozen.contains(graph.value(id).name); });
  b.gradients = differentiate(graph, data_loss, wanted);
}

// The sums of gradients are fp32 or fp64, like the parameters. The caller sets them to zero.
void accumulate_pass(Building& b) {
  if (b.spread())
    reject(Hint{"take a larger `batch`: the ranks share it"},
           "`accumulate` is for one process; {} ranks were started", b.ranks().ranks());
  Graph& graph = b.graph();
  const ValueId minus_one = graph.add_value({.name = "accumulate.rate",
                                             .type = {{1}, DType::f64},
                                             .role = Role::constant,
                                             .producer = kNone,
                                             .init = {Initializer::Kind::constant, -1},
                                             .layer = {}});
  for (auto& [parameter, gradient] : b.gradients) {
    const Value value = graph.value(parameter);
    const ValueId sum = graph.add_value({.name = value.name + std::string(kAccumulated),
                                         .type = value.type,
                                         .role = Role::scalar,
                                         .producer = kNone,
                                         .init = {},
                                         .layer = value.layer});
    if (b.request.accumulate == Accumulate::apply)
      gradient = graph.add_node("add", {sum, gradient}, {}, value.layer, Phase::update).at(0);
    else  // sum - (-1) gradient, in place
      graph.add_node("sgd", {minus_one, sum, gradient}, {}, value.layer, Phase::update);
  }
}

void reduce_pass(Building& b) {
  b.gradients = reduce_gradients(b.graph(), b.gradients, b.ranks(), b.on_cpu());
}

void update_pass(Building& b) {
  Graph& graph = b.graph();
  for (const auto& [parameter, gradient] : b.gradients) {
    graph.value(gradient).name = graph.value(parameter).name + ".gradient";
  }
  clip_gradients(graph, b.gradients, b.request.update.clip_norm, b.ranks());
  if (b.request.keep_gradients)
    for (const auto& [parameter, gradient] : b.gradients) graph.outputs.push_back(gradient);
  add_updates(graph, b.gradients, b.request.update, b.ranks());
}

// Values that callers read after a run; all others may be dropped.
void name_outputs(Building& b) {
  Program& p = b.program;
  std::vector<ValueId>& outputs = p.graph.outputs;
  if (b.request.mode == Mode::gradients) return outputs.push_back(p.logits);
  if (b.request.mode == Mode::infer) {
    for (const Port& port : p.outputs) outputs.push_back(port.value);
    for (ValueId end : p.ends)
      if (std::ranges::find(outputs, end) == outputs.end()) outputs.push_back(end);
    return;
  }
  outputs.push_back(p.loss);
  if (p.stop != kNone) outputs.push_back(p.stop);
  if (p.correct != kNone) outputs.push_back(p.correct);
  if (b.request.mode == Mode::eval) outputs.push_back(p.logits);
}

struct Pass {
  std::string_view name;
  bool (*applies)(const Building&);
  void (*run)(Building&);
};

// Order matters: each pass works on the result of those before it. These passes ask only for the kind of the
// device, so GPUs of different make share their result.
constexpr Pass kCommonPasses[] = {
    {"lower", [](const Building&) { return true; }, lower_network},
    {"freeze", [](const Building& b) { return b.trains() && !b.request.update.freeze.empty(); }, freeze_pass},
    {"split linears", [](const Building& b) { return b.ranks().model_parts > 1; }, split_layers},
    {"sync norms", [](const Building& b) { return b.trains() && b.ranks().sync_norms; }, share_norms},
    {"16-bit types", [](const Building& b) { return b.narrow(); }, narrow_types},
    {"loss", [](const Building& b) { return b.trains() || b.request.mode == Mode::eval; }, add_loss_pass},
    {"differentiate", [](const Building& b) { return b.differentiates(); }, differentiate_pass},
    {"accumulate", [](const Building& b) { return b.accumulates(); }, accumulate_pass},
    {"reduce gradients", [](const Building& b) { return b.trains() && b.ranks().data_parts > 1; },
     reduce_pass},
    {"updates", [](const Building& b) { return b.trains() && b.request.accumulate != Accumulate::collect; },
     update_pass},
    {"tally", [](const Building& b) { return b.trains() && b.on_gpu() && b.for_device(); },
     [](Building& b) { add_tally(b.program, b.partial() ? b.request.global_batch : b.batch); }},
    {"outputs", [](const Building&) { return true; }, name_outputs},
    {"fuse", [](const Building& b) { return b.request.fusion != Fusion::none; },
     [](Building& b) { fuse(b.graph()); }},
    {"drop unused", [](const Building&) { return true; }, [](Building& b) { drop_unused(b.graph()); }},
};

// These ask the target what its kernels accept, and work on the result of the common passes.
constexpr Pass kDevicePasses[] = {
    {"fuse head",  // its kernel needs this
     [](const Building& b) {
       return b.trains() && b.on_gpu() && b.for_device() && b.request.precision == DType::f32;
     },
     [](Building& b) { fuse_head(b.graph()); }},
    {"fuse small classifier",
     [](const Building& b) {
       return b.trains() && b.on_gpu() && b.for_device() && b.request.precision == DType::f32;
     },
     [](Building& b) {
       fuse_small_classifier(b.graph(),
                             [&](const Problem& whole) { return wants_small_classifier(b.request, whole); });
       fuse_classifier_update(
           b.graph(), [&](const Problem& whole) { return wants_classifier_update(b.request, whole); });
     }},
    {"fuse blocks",
     [](const Building& b) { return !b.differentiates() && b.on_cpu() && b.for_device() && !b.narrow(); },
     [](Building& b) { fuse_blocks(b.graph()); }},
    {"fuse pools",
     [](const Building& b) {
       return !b.differentiates() && b.for_device() && (b.on_gpu() || (b.on_cpu() && !b.narrow()));
     },
     [](Building& b) {
       fuse_pools(b.graph(), [&](const Problem& block) { return wants_pooled_block(b.request, block); });
     }},
    {"lay out",
     [](const Building& b) { return b.on_gpu() && b.for_device() && b.request.layout != LayoutWish::nchw; },
     [](Building& b) { lay_out(b.graph(), b.request.target, b.request.layout); }},
    {"share parts",
     [](const Building& b) { return b.on_gpu() && b.for_device() && b.request.precision == DType::f32; },
     [](Building& b) {
       const std::set<std::string> together = split_together(b.request, b.graph());
       const auto wanted = [&](const Problem& product) {
         return splits_factors(b.request, product) || together.contains(product.str());
       };
       share_parts(b.graph(), b.request.target.policy.tf32 ? 1 : 2, wanted);
     }},
    // Gathered casts would wait for all gradients, but gradients leave for other ranks one by one.
    {"gather casts",
     [](const Building& b) {
       return b.on_gpu() && b.for_device() && !b.spread() && b.request.mode != Mode::gradients;
     },
     [](Building& b) { gather_casts(b.graph()); }},
};

std::map<std::string, int> operators_in(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const Node& node : graph.nodes()) ++counts[node.op];
  return counts;
}

// "41 -> 33 nodes: relu -4, sgd +1", largest changes first.
std::string change_between(const std::map<std::string, int>& before, const Graph& after) {
  std::map<std::string, int> change = operators_in(after);
  const auto nodes = static_cast<int>(after.nodes().size());
  int nodes_before = 0;
  for (const auto& [op, count] : before) change[op] -= count, nodes_before += count;
  std::vector<std::pair<int, std::string>> changes;
  for (const auto& [op, count] : change)
    if (count != 0) changes.emplace_back(count, op);
  if (changes.empty()) return {};
  std::ranges::stable_sort(
      changes, [](const auto& a, const auto& c) { return std::abs(a.first) > std::abs(c.first); });
  std::string text = fmt::format("{} -> {} nodes:", nodes_before, nodes);
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < std::min(kShown, changes.size()); ++i)
    text += fmt::format("{} {} {:+}", i > 0 ? "," : "", changes[i].second, changes[i].first);
  if (changes.size() > kShown) text += fmt::format(", … {} more", changes.size() - kShown);
  return text;
}

void run_passes(std::span<const Pass> passes, Building& b, std::vector<PassReport>* reports) {
  for (const Pass& pass : passes) {
    if (!pass.applies(b)) continue;
    const auto before = reports ? operators_in(b.graph()) : std::map<std::string, int>{};
    pass.run(b);
    if (reports) reports->push_back({std::string(pass.name), change_between(before, b.graph())});
  }
}

}  // namespace

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : kCommonPasses) names.emplace_back(pass.name);
  for (const Pass& pass : kDevicePasses) names.emplace_back(pass.name);
  return names;
}

std::int64_t planned_batch(const Net& net, const BuildRequest& request) {
  const std::int64_t fixed = fixed_batch(net);
  return fixed > 0 && request.mode != Mode::infer ? fixed : request.batch;
}

Program make_common(const Net& net, const BuildRequest& request, std::vector<PassReport>* reports) {
  Building b{net, request, planned_batch(net, request)};
  run_passes(kCommonPasses, b, reports);
  return std::move(b.program);
}

Program finish_program(Program common, const Net& net, const BuildRequest& request,
                       std::vector<PassReport>* reports) {
  Building b{net, request, planned_batch(net, request), std::move(common)};
  run_passes(kDevicePasses, b, reports);
  return std::move(b.program);
}

Program make_program(const Net& net, const BuildRequest& request, std::vector<PassReport>* reports) {
  return finish_program(make_common(net, request, reports), net, request, reports);
}

Program make_forward(const Net& net, std::int64_t batch, DType dtype, Fusion fusion) {
  return make_program(net, {.mode = Mode::infer, .batch = batch, .precision = dtype, .fusion = fusion});
}

void require_complete(const Program& p, const Net& net) {
  if (p.unknown.empty()) return;
  const UnknownNode& first = p.unknown.front();
  std::map<std::string, int> kinds;
  for (const UnknownNode& node : p.unknown) ++kinds[node.op];
  std::vector<std::string> counts;
  for (const auto& [op, count] : kinds) counts.push_back(fmt::format("{} {}", count, op));
  const std::string more =
      p.unknown.size() > 1 ? fmt::format("; unknown nodes: {}", fmt::join(counts, ", ")) : "";
  reject(Hint{"headroom model show lists the unknown nodes; the rest can be predicted with `mode` eval"},
         "network '{}' cannot be run: {} ('{}'): {}{}", net.name, first.op, first.node, first.reason, more);
}

ValueId gradient_of(const Program& program, std::string_view parameter) {
  const ValueId id = program.graph.find(fmt::format("{}.gradient", parameter));
  if (id == kNone) fail("there is no gradient of '{}'", parameter);
  return id;
}

}  // namespace headroom
