// The verb run: a network's forward pass on arrays from files.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/inference.h"
#include "cli/options.h"
#include "cli/profile_run.h"
#include "cli/record_files.h"
#include "cli/run_cases.h"
#include "cli/run_report.h"
#include "cli/saving.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "data/npy.h"
#include "models/onnx/for_arrays.h"
#include "models/onnx/imported.h"
#include "models/onnx/tensor_file.h"
#include "report/layers.h"
#include "timing/step_model.h"
#include "train/inference.h"

namespace headroom::cli {
namespace {

struct RunModelRequest {
  Common common;
  std::string model, weights, output, cases;
  RecordFiles files;
  ProfileOptions profile;
  std::vector<std::string> inputs, expected, dims;
  Tolerance tolerance;
  bool time = false;
};

using Words = std::vector<std::string>;

NamedTensor read_array(const std::string& path) {
  if (path.ends_with(".npy")) return read_npy(path);
  if (path.ends_with(".pb")) return onnx::read_tensor(path);
  reject(Hint{"numpy.save writes .npy files; ONNX's test suites hold .pb files"},
         "{} is neither an .npy file nor a .pb file", path);
}

// The '=' after the longest of the names that the text begins with: names and files may hold one, too. If it
// begins with none, the first '='.
std::size_t end_of_name(const std::string& text, const Words& names) {
  std::size_t end = std::string::npos;
  for (const std::string& name : names)
    if (text.starts_with(name + "=") && (end == std::string::npos || name.size() > end)) end = name.size();
  return end == std::string::npos ? text.find('=') : end;
}

// "name=file" if the name is one of the model's ports; otherwise the next port without a file.
std::vector<NamedTensor> read_arrays(const std::vector<std::string>& texts, const Words& names,
                                     std::string_view what, const std::string& model) {
  Words taken;
  auto is_name = [&](const std::string& text) { return std::ranges::find(names, text) != names.end(); };
  auto take = [&](const std::string& name) {
    if (std::ranges::find(taken, name) != taken.end()) reject("{} '{}' was given twice", what, name);
    taken.push_back(name);
    return name;
  };
  std::vector<std::pair<std::string, std::string>> files;  // name and path
  for (const std::string& text : texts) {
    const std::size_t equals = end_of_name(text, names);
    const std::string name = text.substr(0, equals);
    std::error_code ignored;
    if (equals != std::string::npos && is_name(name))
      files.emplace_back(take(name), text.substr(equals + 1));
    else if (equals == std::string::npos || std::filesystem::exists(text, ignored))
      files.emplace_back("", text);
    else
      reject(nearest(name, names), "model '{}' has no {} '{}'", model, what, name);
  }
  std::vector<NamedTensor> arrays;
  for (auto& [name, path] : files) {
    if (name.empty()) {
      const auto next = std::ranges::find_if(
          names, [&](const std::string& n) { return std::ranges::find(taken, n) == taken.end(); });
      if (next == names.end())
        reject(Hint{"leave it out"}, "model '{}' has {} {}{}; {} is one too many", model, names.size(), what,
               names.size() == 1 ? "" : "s", path);
      name = take(*next);
    }
    arrays.push_back(read_array(path));
    arrays.back().name = name;
  }
  return arrays;
}

// Lists the network's inputs if the user gave none.
void require_inputs(const RunModelRequest& r, const std::vector<onnx::InputText>& inputs) {
  if (inputs.empty() || !r.inputs.empty()) return;
  std::string needs, how;
  for (const onnx::InputText& input : inputs) {
    needs += fmt::format("{}{}", needs.empty() ? "" : ", ", input.takes);
    how += fmt::format(" --input {}=FILE.npy", input.name);
  }
  reject(Hint{fmt::format("headroom run {}{}", r.model, how)}, "'{}' needs {}: {}", r.model,
         inputs.size() == 1 ? "an input" : "inputs", needs);
}

// File names of outputs: a character that a folder cannot hold or a shell would interpret becomes '_'.
std::vector<std::string> file_names(const std::vector<NamedTensor>& outputs) {
  std::vector<std::string> names;
  for (const NamedTensor& output : outputs) {
    std::string name = output.name.empty() || output.name.front() == '.' ? "_" + output.name : output.name;
    for (char& c : name)
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '.') c = '_';
    std::string unique = name;
    for (int n = 2; std::ranges::find(names, unique) != names.end(); ++n)
      unique = fmt::format("{}_{}", name, n);
    names.push_back(unique);
  }
  return names;
}

void write_outputs(const std::string& folder, const std::vector<NamedTensor>& outputs,
                   const std::map<std::string, std::string>& narrow) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) reject("cannot make the folder {}: {}", folder, error.message());
  const std::vector<std::string> names = file_names(outputs);
  for (std::size_t i = 0; i < outputs.size(); ++i)
    write_npy(std::filesystem::path(folder) / (names[i] + ".npy"), outputs[i],
              narrow.contains(outputs[i].name) ? narrow.at(outputs[i].name) : "");
}

std::vector<Compared> compare_all(const RunModelRequest& r, const std::vector<NamedTensor>& outputs,
                                  const std::vector<NamedTensor>& wanted) {
  std::vector<Compared> list;
  for (const NamedTensor& want : wanted) {
    const auto got = std::ranges::find(outputs, want.name, &NamedTensor::name);
    list.push_back({want.name, compare(*got, want, r.tolerance), got->type.shape});
  }
  return list;
}

void require_sound(const RunModelRequest& r) {
  for (const auto& [name, value] :
       {std::pair("--rtol", r.tolerance.relative), std::pair("--atol", r.tolerance.absolute)})
    if (!(value >= 0)) reject("{} is {}; it must not be negative", name, value);
  if (r.model.empty() && r.cases.empty())
    reject(Hint{"headroom run net.onnx --input x.npy, or headroom run --cases DIR"}, "no model was named");
  if (!r.cases.empty() && (!r.model.empty() || !r.inputs.empty() || !r.expected.empty() || !r.output.empty()))
    reject(Hint{"leave these out, or --cases"},
           "--cases runs what the folder holds; it takes no model, --input, --expect or --output");
  if (!r.cases.empty() && (r.time || r.files.any()))
    reject(Hint{"leave these out, or --cases"},
           "--cases checks results; it takes none of --time, --record and --report");
  require_tables(r.common.tables, empty_layer_sheet(false));
  std::error_code ignored;
  if (!r.output.empty() && std::filesystem::exists(r.output, ignored) &&
      !std::filesystem::is_directory(r.output, ignored))
    reject(Hint{"name another folder"}, "--output {} is not a folder", r.output);
}

template <class Named>
Words names_of(const std::vector<Named>& list) {
  Words names;
  for (const Named& item : list) names.push_back(item.name);
  return names;
}

// What runs, and on which arrays. The open dimensions of an ONNX file follow the arrays; "--dim sequence=128"
// is the same as "bert.onnx:sequence=128".
struct Subject {
  Net net;
  std::vector<NamedTensor> arrays;
};

Subject subject_of(const RunModelRequest& r) {
  if (!is_onnx_name(r.model)) {
    if (!r.dims.empty())
      reject(Hint{"leave --dim out"}, "--dim sets an open size of an ONNX file, but '{}' is not an ONNX file",
             r.model);
    return {find_net(adopted(r.model, r.weights)), {}};
  }
  onnx::Spec spec = onnx::parse_spec(r.model);
  spec.sizes.insert(spec.sizes.end(), r.dims.begin(), r.dims.end());
  const std::vector<onnx::InputText> texts = onnx::input_texts(spec.path);
  require_inputs(r, texts);
  std::vector<NamedTensor> arrays = read_arrays(r.inputs, names_of(texts), "input", spec.path);
  Net net = net_for_arrays(spec.str(), arrays);
  return {std::move(net), std::move(arrays)};
}

// Both readings of the last pass.
struct Readings {
  Machine machine;
  Prediction prediction;
  Measurement measurement;
  std::vector<LayerReading> layers;
};

Readings read_again(const RunModelRequest& r, Inference& inference, Device& device) {
  Readings readings{.machine = r.common.machine(device), .prediction = {}, .measurement = {}, .layers = {}};
  const Plan& plan = *inference.plan();
  readings.prediction = predict(plan, readings.machine, time_model_for(readings.machine));
  readings.measurement = measure_again(device, inference);
  readings.layers = read_layers(plan, readings.prediction, readings.measurement);
  return readings;
}

RunRecord record_of(const Readings& readings, Engine& engine, const Inference& inference) {
  RunRecord record = start_record("run", command_line());
  record.machine = readings.machine;
  record.model = recorded_model(engine);
  record.resources = process_resources();
  add_readings(record, *inference.plan(), inference.passes(), readings.prediction, readings.measurement,
               real_peak_bytes(engine, *inference.plan(), record.resources));
  return record;
}

std::string time_text(const Readings& readings, std::int64_t batch, const TableView& view) {
  const Spread whole = spread_of(readings.measurement.run_s);
  return fmt::format("\n{}\npass       {} median, {} to {} (10 to 90 %), {}; batch {}\nfloor      {} on {}\n",
                     layer_sheet(readings.layers, readings.prediction.has_times).text(view),
                     human_seconds(whole.median), human_seconds(whole.p10), human_seconds(whole.p90),
                     counted(whole.samples, "sample"), batch, human_seconds(readings.prediction.floor_s),
                     readings.machine.title);
}

void run(const RunModelRequest& r) {
  require_sound(r);
  require_files(r.files);
  if (!r.cases.empty()) return run_cases(r.cases, r.common, r.tolerance);
  std::optional<ProfileRun> profile;
  if (!r.profile.out.empty()) {
    require_profile(r.profile);
    profile.emplace(r.profile);
  }
  auto [net, inputs] = subject_of(r);
  const auto device = r.common.open();
  Engine engine(net, *device, r.common.engine_options());
  Inference inference(engine);
  if (!net.imported) {
    std::vector<onnx::InputText> texts;
    for (const PortType& port : inference.inputs()) texts.push_back({port.name, port.str()});
    require_inputs(r, texts);
    inputs = read_arrays(r.inputs, names_of(inference.inputs()), "input", net.name);
  }
  const auto wanted = read_arrays(r.expected, names_of(inference.outputs()), "output", net.name);
  if (!r.weights.empty())
    load(engine, r.weights);
  else if (!is_onnx_name(r.model))
    note(fmt::format("headroom: no --weights: '{}' runs with its initial weights, from --seed {}\n", net.name,
                     r.common.seed));
  const std::vector<NamedTensor> outputs = inference.run(inputs);
  const bool batched = !inputs.empty() && inputs[0].type.shape.rank() > 0;
  const std::int64_t items = batched ? inputs[0].type.shape[0] : inference.batch();
  if (r.common.explain) note(inference.explain());
  if (profile) watch_passes(inference, *device, *profile);
  const std::vector<Compared> compared = compare_all(r, outputs, wanted);
  std::optional<Readings> readings;
  if (r.time || profile || r.files.any()) readings = read_again(r, inference, *device);
  if (r.common.json) {
    Json json = {{"model", net.name},
                 {"device", device->capabilities().name},
                 {"precision", r.common.precision},
                 {"batch", inference.batch()},
                 {"outputs", Json::array()},
                 {"expected", Json::array()}};
    for (const NamedTensor& output : outputs) json["outputs"].push_back(output_json(output, items));
    for (const Compared& c : compared) json["expected"].push_back(compared_json(c));
    if (r.time) {
      json["layers"] = layers_json(readings->layers);
      json["pass"] = spread_json(spread_of(readings->measurement.run_s));
      json["floor_ms"] = readings->prediction.floor_s * 1e3;
    }
    print_json(json);
  } else {
    print_outputs(outputs, items, r.common.tables.view());
    print_compared(compared);
    if (r.time) print(time_text(*readings, inference.batch(), r.common.tables.layers()));
  }
  flush_output();  // the result is out before a file can fail
  Saving saving;
  std::map<std::string, std::string> narrow;
  if (!r.output.empty() && net.imported) narrow = onnx::narrow_outputs(onnx::parse_spec(r.model).path);
  if (!r.output.empty()) saving.attempt([&] { write_outputs(r.output, outputs, narrow); });
  RunProfile all;
  if (readings) all.record = record_of(*readings, engine, inference);
  if (profile) all = profile->finish(all.record, *inference.plan());
  if (readings) saving.attempt([&] { write_files(r.files, all); });
  if (profile)
    saving.attempt([&] {
      profile->write();
      profile->say_where();
    });
  saving.finish();
  for (const Compared& c : compared)
    if (!c.difference.passed())
      throw Error(Blame::run, fmt::format("output {}", c.str()),
                  Hint{"--rtol and --atol set the allowed error"});
}

}  // namespace

void add_run(Command app) {
  auto r = std::make_shared<RunModelRequest>();
  Command verb =
      app.verb("run", "run a network forward on arrays from files; print, save or check the outputs");
  verb.option("model", r->model, "zoo name with options, a net.json or an ONNX file");
  verb.option("--input", r->inputs,
              "an array, .npy or .pb, for the next input, or name=file for a named one; repeatable");
  verb.option("--output", r->output, "folder for the outputs, NAME.npy each");
  verb.option("--expect", r->expected, "the expected output, like --input; exit code 1 if it differs");
  verb.option("--rtol", r->tolerance.relative, "allowed relative error");
  verb.option("--atol", r->tolerance.absolute, "allowed absolute error, added to that");
  verb.option("--weights", r->weights, "weights: safetensors, or MXNet's .params");
  verb.option("--dim", r->dims, "an open size of an ONNX file: name=size, repeatable");
  verb.option("--cases", r->cases,
              "run every ONNX model below this folder on the data stored beside it, and count the passes");
  verb.flag("--time", r->time, "repeat the pass and print the time of each layer beside its floor");
  add_record_options(verb, r->files);
  add_profile_folder(verb, r->profile);
  add_run_options(verb, r->common);
  add_layer_table_options(verb, r->common.tables);
  verb.example("headroom run net.onnx --input images=x.npy --output results");
  verb.example("headroom run lenet5 --weights lenet5.safetensors --input x.npy --expect y.npy --rtol 1e-4");
  verb.example("headroom run net.onnx --input x.npy --time --top 5");
  verb.example("headroom run --cases onnx/node");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
