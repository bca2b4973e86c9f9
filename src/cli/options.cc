#include "cli/options.h"

#include <algorithm>
#include <utility>

#include <cstdio>
#include <regex>

#include "base/text.h"
#include "machine/roofline.h"
#include "models/onnx/imported.h"

namespace headroom::cli {

DType Common::dtype() const {
  const std::vector<std::string> names = {"fp64", "fp32", "tf32", "bf16", "fp16"};
  if (std::find(names.begin(), names.end(), precision) == names.end())
    reject(nearest(precision, names), "unknown precision '{}'", precision);
  return tf32() ? DType::f32 : *parse_dtype(precision);
}

DType Common::cpu_dtype() const {
  if (const DType type = dtype(); !tf32() && !is_narrow(type)) return type;
  reject(Hint{"use --precision fp32 or fp64"}, "the CPU does not compute in {}", precision);
}

EngineOptions Common::engine_options(const std::vector<std::string>& usual_kernels) const {
  if (streams != 1 && streams != 2) reject("--streams is {}; it must be 1 or 2", streams);
  return {.precision = dtype(),
          .tf32 = tf32(),
          .deterministic = deterministic,
          .capture = capture,
          .streams = streams,
          .seed = seed,
          .update = {},
          .choose = chooser(usual_kernels),
          .layout = layout_wish()};
}

LayoutWish Common::layout_wish() const {
  const auto wish = parse_layout_wish(layout);
  if (wish == LayoutWish::nhwc && device == "cpu")
    reject(Hint{"leave --layout out, or take --device cuda"},
           "--layout nhwc is for GPUs: CPU kernels read NCHW");
  if (wish) return *wish;
  reject(nearest(layout, std::vector<std::string>{"auto", "nchw", "nhwc"}), "unknown layout '{}'", layout);
}

Chooser Common::chooser(const std::vector<std::string>& usual) const {
  std::vector<std::pair<std::string, std::string>> choices;
  auto add = [&](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      reject(Hint{"write --kernel conv2d=cpu:im2col_gemm"}, "--kernel '{}' names no kernel", text);
    const std::string op = text.substr(0, equals);
    if (std::ranges::find(choices, op, &std::pair<std::string, std::string>::first) == choices.end())
      choices.emplace_back(op, text.substr(equals + 1));
  };
  for (const std::string& text : kernels) add(text);
  // What a recipe wishes for is for CPUs; other devices have kernels of their own.
  if (device == "cpu")
    for (const std::string& text : usual) add(text);
  return choices.empty() ? first_that_accepts : forced(choices);
}

void Common::require_threads() const {
  constexpr int kMost = 4096;
  if (threads < 0 || threads > kMost)
    reject("--threads is {}; it must lie between 1 and {}, or be 0 for one per core", threads, kMost);
}

std::unique_ptr<Device> Common::open() const {
  require_threads();
  return open_device(device, threads);
}

Machine Common::machine(Device& opened) const {
  constexpr double kQuick = 1.5;  // seconds: enough for a ceiling, once per machine
  if (opened.kind() == DeviceKind::cpu) return here_or_measure(threads, kQuick, !one_of_several);
  return here_gpu_or_measure(opened);
}

void add_json(Command verb, Common& common) {
  verb.flag("--json", common.json, "print one JSON object and nothing else on standard output");
}

void add_dim_option(Command verb, std::vector<std::string>& dims) {
  verb.option("--dim", dims, "an open size of an ONNX file: name=size, repeatable");
}

std::string with_dims(std::string model, const std::vector<std::string>& dims) {
  if (!dims.empty() && !is_onnx_name(model))
    reject("--dim sets an open size of an ONNX file, and '{}' is none", model);
  bool first = model.ends_with(".onnx");
  for (const std::string& dim : dims) model += (std::exchange(first, false) ? ':' : ',') + dim;
  return model;
}

void add_run_options(Command verb, Common& common) {
  add_json(verb, common);
  verb.option("--device", common.device, "cpu, cuda, or cuda:1 for another GPU than the first");
  verb.option("--precision", common.precision,
              "fp32 or fp64; on GPUs also tf32, bf16, fp16 (weights stay fp32)");
  verb.option("--seed", common.seed, "seed of weights, order and data");
  verb.option("--threads", common.threads, "CPU threads; 0 takes one per core");
  verb.flag("--explain", common.explain, "say why each kernel was chosen and what refused");
  verb.option("--kernel", common.kernels, "force a kernel: op=name, repeatable");
  verb.option("--layout", common.layout, "on GPUs: how images lie in memory: auto, nchw or nhwc");
  verb.flag("--deterministic", common.deterministic, "the same bits every run, on GPUs too");
  verb.flag("--graph,!--no-graph", common.capture,
            "on GPUs: a step as one launch, or kernel by kernel with every loss waited for");
  verb.option("--streams", common.streams,
              "on GPUs: 2 runs gradients of weights beside those that lead on, in small networks");
}

namespace {
bool speaks = true;
}

void be_silent() { speaks = false; }
void print(const std::string& text) {
  if (speaks) std::fwrite(text.data(), 1, text.size(), stdout);
}
void note(const std::string& text) {
  if (speaks) std::fwrite(text.data(), 1, text.size(), stderr);
}
std::string with_options(std::string_view message) {
  static const std::regex setting("`([a-z][a-z-]*)`");
  return std::regex_replace(std::string(message), setting, "--$1");
}
std::string json_text(const Json& json) {
  // Paths need not be valid UTF-8; that must not lose a finished run.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}
void print_json(const Json& json) { print(json_text(json)); }

}  // namespace headroom::cli
