#include "predict/predict.h"

#include "base/table.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/run_setup.h"
#include "cli/verbs.h"
#include "machine/roofline.h"
#include "report/layers.h"
#include "report/record.h"
#include "report/unknown.h"
#include "train/planned.h"
#include "train/program.h"

namespace headroom::cli {
namespace {

constexpr const char* kUsualBatch = "64";

struct Request {
  std::string model, machines = "here", batches, mode;
  std::vector<std::string> dims;
  Common common;
};

Machine machine_named(const std::string& name, const Common& common) {
  constexpr double kQuick = 1.5;
  return name == "here" ? here_or_measure(common.threads, kQuick) : find_machine(name);
}

Plan plan_for(const Net& net, const Machine& machine, Mode mode, std::int64_t batch, const Common& common) {
  PlanRequest request{.mode = mode, .batch = batch, .threads = common.threads};
  request.dtype = machine.kind == "cpu" ? common.cpu_dtype() : common.dtype();
  request.tf32 = common.tf32();
  request.update.momentum = 0.9;
  return plan_on(machine, net, request, common.chooser());
}

std::vector<std::int64_t> batches_of(const Request& r, const Net& net) {
  std::vector<std::int64_t> batches;
  for (const std::string& text : split(r.batches, ',')) {
    batches.push_back(parse_int(text, "--batch"));
    if (batches.back() < 1) reject("--batch is {}; it must be at least 1", batches.back());
  }
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) return {fixed};  // as its file says
  return batches;
}

// A network from a file need not be one that can be trained here; its forward pass still has a cost.
std::string usual_mode(const Net& net, std::int64_t batch) {
  if (!net.imported) return "train";
  try {
    make_program(net, Mode::train, batch, {});
    return "train";
  } catch (const Error& error) {
    note(fmt::format("{}: --mode eval\n", with_options(error.what())));
    return "eval";
  }
}

// A plan made for a machine, and what it should cost there.
struct Reading {
  Plan plan;
  Prediction prediction;
};

std::string summary(const std::vector<Reading>& all) {
  Table table({"machine", "batch", "floor ms", "predicted ms", "images/s at the floor"});
  for (const auto& [plan, p] : all)
    table.row({p.machine, std::to_string(plan.binding.batch), fixed_or_small(p.floor_s * 1e3),
               p.has_times ? fixed_or_small(p.predicted_s * 1e3) : "-",
               with_commas(std::llround(double(plan.binding.batch) / p.floor_s))});
  return table.str();
}

void run(const Request& r) {
  r.common.open();  // nothing runs on it; rejects a device or a number of threads that cannot be
  const Net net = find_net(with_dims(r.model, r.dims));
  const std::vector<std::int64_t> batches = batches_of(r, net);
  const std::string wanted = r.mode.empty() ? usual_mode(net, batches.front()) : r.mode;
  if (wanted != "train" && wanted != "eval")
    reject(nearest(wanted, std::vector<std::string>{"train", "eval"}), "unknown mode '{}'", wanted);
  const Mode mode = wanted == "train" ? Mode::train : Mode::eval;
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0 && r.batches != kUsualBatch)
    note(fmt::format("'{}' has a batch of {}, as its file says; --batch changes nothing\n", net.name, fixed));
  std::vector<Machine> machines;
  for (const std::string& name : split(r.machines, ',')) machines.push_back(machine_named(name, r.common));

  std::vector<Reading> all;
  for (std::int64_t batch : batches)
    for (const Machine& m : machines) {
      Plan plan = plan_for(net, m, mode, batch, r.common);
      Prediction prediction = predict(plan, m);
      all.push_back({std::move(plan), std::move(prediction)});
    }
  if (r.common.json) {
    Json list = Json::array();
    for (const auto& [plan, prediction] : all) {
      Json item = {{"batch", plan.binding.batch}};
      item.update(prediction_json(plan, prediction));
      list.push_back(item);
    }
    Json json = {
        {"model", net.name}, {"mode", wanted}, {"precision", r.common.precision}, {"predictions", list}};
    if (net.imported && mode == Mode::eval) add_unknown(json, make_forward(net, batches.front(), DType::f32));
    return print_json(json);
  }
  if (r.common.explain) note(all.front().plan.explain());
  for (const auto& [plan, p] : all) {
    print(fmt::format("{}, batch {}, {}, one {} step on {}:\n\n", net.name, plan.binding.batch,
                      r.common.precision, mode == Mode::train ? "training" : "inference", p.machine));
    print(layer_table(read_layers(plan, p), p.has_times) + "\n");
  }
  print(summary(all));
  if (net.imported && mode == Mode::eval) print(unknown_text(make_forward(net, batches.front(), DType::f32)));
  print(
      "\nFloor: no program can take less; max(FLOPs / peak, bytes / bandwidth) per step, added up. "
      "Predicted: what the chosen kernels\nshould take; on GPUs with assumed efficiencies, not fitted to any "
      "device.\n");
}

}  // namespace

void add_predict(Command app) {
  auto r = std::make_shared<Request>();
  r->batches = kUsualBatch;
  Command verb = app.verb("predict", "what a network must cost on machines you need not have");
  verb.required("model", r->model, "zoo name with options, a net.json or an ONNX file");
  verb.option("--machine", r->machines, "names from headroom machine list, comma-separated");
  verb.option("--batch", r->batches, "images per step, comma-separated");
  verb.option("--mode", r->mode, "train, unless it cannot be trained, or eval");
  add_dim_option(verb, r->dims);
  add_run_options(verb, r->common);
  verb.example("headroom predict lenet5 --machine here,h200,k80 --batch 1,256");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
