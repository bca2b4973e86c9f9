// The verb model: lists the networks and shows the layers of one.
#include "base/json.h"
#include "base/units.h"
#include "cli/lists.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "models/zoo.h"
#include "report/model_table.h"
#include "report/stored_numbers.h"
#include "report/trainable.h"
#include "report/unknown.h"
#include "train/build.h"
#include "train/freeze.h"

namespace headroom::cli {
namespace {

struct ModelRequest {
  Common common;
  std::string model;
  std::int64_t batch = 1;
  bool csv = false, dot = false, trainable = false;
  std::vector<std::string> dims, freeze;
};

Rows model_rows() {
  Rows rows;
  for (const ZooEntry& entry : zoo()) rows.push_back({entry.name, entry.title, entry.options});
  return rows;
}

ModelCost cost_of(const Net& net, const ModelRequest& r) {
  // The cost of the network itself: without a device's fusions, and with operators that have no kernel.
  BuildRequest request{.mode = Mode::infer,
                       .batch = r.batch,
                       .precision = r.common.cpu_dtype(),
                       .target = cpu_capabilities(),
                       .update = {.momentum = 0.9},
                       .fusion = Fusion::portable,
                       .choose = even_without_kernel(first_that_accepts)};
  const Plan forward = build(net, request).plan;
  try {
    request.mode = Mode::train;
    request.choose = first_that_accepts;
    const Plan training = build(net, request).plan;
    return model_cost(forward, &training);
  } catch (const Error& error) {  // a detector, or no gradient: it still has costs
    ModelCost cost = model_cost(forward, nullptr);
    cost.training_gap = with_options(error.what());
    return cost;
  }
}

void print_cost(const Net& net, const ModelCost& cost, const ModelRequest& r) {
  const Program forward = make_forward(net, r.batch, r.common.cpu_dtype());
  if (net.imported)
    print(ports_text(net, forward));
  else
    print(fmt::format("{}: input {}, batch {}, {}, forward pass\n\n", net.name, Shape(net.input).str(),
                      r.batch, r.common.precision));
  print(model_sheet(cost).text(r.common.tables.layers()));
  print(unknown_text(forward, r.common.tables.view()));
  print("\n" +
        paragraph("MACs: multiply-adds of products. FLOPs: two each. Other: comparisons, additions, "
                  "normalisation, exp and the like, one each. Bytes: the least traffic, inputs, weights "
                  "and outputs once. All for the whole batch.",
                  r.common.tables.view()) +
        "\n");
  print(fmt::format("parameters {}\n", stored_text(stored_numbers(net, forward.graph))));
  if (!cost.kinds.empty()) print(fmt::format("products   {}\n", kinds_line(cost)));
  print(fmt::format("memory     {} to run a batch (weights, input, scratch)\n",
                    human_bytes(cost.inference_bytes)));
  if (cost.training_gap.empty())
    print(fmt::format("           {} to train on it, with gradients and momentum\n",
                      human_bytes(cost.training_bytes)));
  else
    print(fmt::format("           it cannot be trained here: {}\n", cost.training_gap));
}

void show_trainable(const Net& net, const ModelRequest& r) {
  TrainableList list = trainable_list(net, r.batch, parse_freeze(r.freeze));
  list.gap = with_options(list.gap);
  r.common.json ? print_json(trainable_json(list)) : print(trainable_text(list, r.common.tables.view()));
}

void show(const ModelRequest& request) {
  ModelRequest r = request;
  if (r.batch < 1) reject("--batch is {}; it must be at least 1", r.batch);
  if (r.common.json + r.csv + r.dot > 1)
    reject(Hint{"give only one of them"}, "--json, --csv and --dot exclude each other");
  if (r.trainable && (r.csv || r.dot))
    reject(Hint{fmt::format("leave out {}", r.csv ? "--csv" : "--dot")},
           "--trainable prints a table or, with --json, an object");
  if (!r.trainable && !r.freeze.empty())
    reject(Hint{"add --trainable"}, "--freeze has no effect on the costs of a forward pass");
  require_tables(r.common.tables, model_sheet({}));
  const Net net = find_net(with_dims(r.model, r.dims));
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) r.batch = fixed;
  if (r.trainable) return show_trainable(net, r);
  if (r.dot) return print(make_forward(net, r.batch, r.common.cpu_dtype()).graph.dot());
  const ModelCost cost = cost_of(net, r);
  if (r.csv) return print(model_sheet(cost, false).csv());
  if (!r.common.json) return print_cost(net, cost, r);
  Json json = model_json(cost);
  json["model"] = net.name;
  json["input"] = net.input;
  json["precision"] = r.common.precision;
  const Program forward = make_forward(net, r.batch, r.common.cpu_dtype());
  add_stored_numbers(json, stored_numbers(net, forward.graph));
  add_unknown(json, forward);
  print_json(json);
}

}  // namespace

void add_model(Command app) {
  Command verb =
      add_list(app, "model", "the networks the program knows, and what each layer of one must cost",
               {{.key = "model", .title = "model"},
                {.key = "title", .title = "title", .left = true, .wrap = true},
                {.key = "options", .title = "options", .left = true, .wrap = true}},
               model_rows);
  auto request = std::make_shared<ModelRequest>();
  Command one = verb.verb("show", "layers, shapes, parameters, MACs and FLOPs, bytes, memory");
  one.required("model", request->model, "zoo name with options, a net.json or an ONNX file");
  one.option("--batch", request->batch, "items per batch");
  add_dim_option(one, request->dims);
  one.option("--precision", request->common.precision, "fp32 or fp64");
  one.flag("--csv", request->csv, "comma-separated values");
  one.flag("--dot", request->dot, "the graph for Graphviz");
  one.flag("--trainable", request->trainable,
           "instead: which values training changes, and why not the others");
  one.option("--freeze", request->freeze, "with --trainable: as if trained with this --freeze");
  add_json(one, request->common);
  add_table_options(one, request->common.tables);
  add_layer_table_options(one, request->common.tables);
  one.example("headroom model show ece408");
  one.example("headroom model show --trainable resnet50.onnx");
  one.example("headroom model show lenet5 --dot | dot -Tsvg > lenet5.svg");
  one.runs([request] { show(*request); });
  add_export(verb);
}

}  // namespace headroom::cli
