#include "train/model_cases.h"

#include <algorithm>

#include "models/onnx/for_arrays.h"
#include "models/onnx/imported.h"
#include "models/onnx/tensor_file.h"
#include "train/inference.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

// prefix0.pb, prefix1.pb, … without a gap.
std::vector<fs::path> numbered(const fs::path& prefix) {
  std::vector<fs::path> files;
  for (int i = 0;; ++i) {
    fs::path file = prefix;
    file += fmt::format("{}.pb", i);
    if (!fs::exists(file)) return files;
    files.push_back(file);
  }
}

void add_model(const fs::path& folder, const fs::path& model, std::vector<ModelCase>& cases) {
  const fs::path home = model.parent_path(), own = fs::relative(home, folder);
  const bool alone = model.filename() == "model.onnx";
  const std::string name = alone ? (own == "." ? folder.filename() : own).string()
                                 : (own == "." ? model.filename() : own / model.filename()).string();
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(home))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::ranges::sort(sets);
  for (const fs::path& set : sets)
    cases.push_back({sets.size() == 1 ? name : fmt::format("{}/{}", name, set.filename().string()), model,
                     numbered(set / "input_"), numbered(set / "output_")});
  if (!sets.empty()) return;
  fs::path beside = model;
  beside.replace_extension();
  beside += "_output_";
  cases.push_back({name, model, {}, numbered(beside), true});
}

NamedTensor counted(const PortType& port) {
  NamedTensor tensor{port.name, {port.shape, DType::f64}, {}};
  const std::int64_t n = port.shape.numel();
  std::vector<double> values(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = double(i) / double(n);
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  tensor.bytes.assign(bytes, bytes + values.size() * sizeof(double));
  return as_type(tensor, port.dtype);
}

// The parts of the network that cannot run, by layer and reason.
std::string gap_of(const Net& net, DType precision) {
  std::string gaps;
  const Program program = make_forward(net, std::max<std::int64_t>(1, fixed_batch(net)), precision);
  for (const UnknownNode& node : program.unknown)
    gaps += fmt::format("{}{}: {}", gaps.empty() ? "" : "; ", node.op, node.reason);
  return gaps;
}

std::vector<NamedTensor> stored_inputs(const ModelCase& c) {
  std::vector<NamedTensor> arrays;
  if (c.counted) return arrays;
  const std::vector<std::string> names = onnx::input_names(c.model.string());
  if (c.inputs.size() != names.size())
    reject("the model has {} inputs, but {} are stored", names.size(), c.inputs.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    arrays.push_back(onnx::read_tensor(c.inputs[i]));
    arrays.back().name = names[i];
  }
  return arrays;
}

std::string said(const NamedTensor& got, const Difference& d) {
  if (!d.mismatch.empty()) return fmt::format("'{}' {}", got.name, d.mismatch);
  return fmt::format("'{}': {} of {} elements differ; the worst is [{}]: {:.9g}, not {:.9g}", got.name,
                     d.wrong, d.elements, fmt::join(position_of(d.worst, got.type.shape), ", "), d.got,
                     d.wanted);
}

void compare_outputs(const ModelCase& c, const std::vector<NamedTensor>& results, const Tolerance& tolerance,
                     CaseResult& result) {
  if (results.size() != c.outputs.size())
    reject("the model has {} outputs, but {} are stored", results.size(), c.outputs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Difference d = compare(results[i], onnx::read_tensor(c.outputs[i]), tolerance);
    if (d.worst >= 0) result.worst = std::max(result.worst, d.error);
    if (d.passed()) continue;
    result.end = CaseEnd::failed;
    if (result.reason.empty()) result.reason = said(results[i], d);
  }
}

}  // namespace

std::vector<ModelCase> find_cases(const std::filesystem::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    reject(Hint{"check the path"}, "there is no folder {}", folder.string());
  std::vector<fs::path> models;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() == ".onnx") models.push_back(entry.path());
  std::ranges::sort(models);
  std::vector<ModelCase> cases;
  for (const fs::path& model : models) add_model(fs::path(folder) / "", model, cases);
  if (cases.empty())
    reject(Hint{"name a folder of models, each beside its test_data_set_0"}, "{} does not hold an .onnx file",
           folder.string());
  return cases;
}

CaseResult run_case(const ModelCase& c, Device& device, const EngineOptions& options,
                    const Tolerance& tolerance) {
  CaseResult result{c.name, CaseEnd::passed, {}, 0};
  auto end = [&](CaseEnd how, std::string reason) {
    result.end = how;
    result.reason = std::move(reason);
    return result;
  };
  if (c.outputs.empty()) return end(CaseEnd::skipped, "no outputs are stored beside it");
  try {
    std::vector<NamedTensor> arrays = stored_inputs(c);
    const Net net = net_for_arrays(c.model.string(), arrays);
    if (const std::string gap = gap_of(net, options.precision); !gap.empty())
      return end(CaseEnd::skipped, gap);
    Engine engine(net, device, options);
    Inference inference(engine);
    if (c.counted)
      for (const PortType& port : inference.inputs()) arrays.push_back(counted(port));
    compare_outputs(c, inference.run(arrays), tolerance, result);
    return result;
  } catch (const Error& e) {
    return end(CaseEnd::failed, e.what());
  }
}

}  // namespace headroom
