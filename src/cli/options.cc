#include "cli/options.h"

#include <algorithm>
#include <utility>

#include <cstdio>
#include <regex>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/progress.h"
#include "device/cpu/levels.h"
#include "models/onnx/imported.h"
#include "plan/streams.h"
#include "timing/choose.h"
#include "timing/step_model.h"
#include "train/settings.h"

namespace headroom::cli {

DType Common::dtype() const { return parse_precision(precision).dtype; }

DType Common::cpu_dtype() const {
  require_cpu_precision(cpu_capabilities(), dtype(), tf32());
  return master_of(dtype());
}

namespace {

void require_choose(const std::string& choose) {
  if (choose != "order" && choose != "predicted")
    reject(nearest(choose, std::vector<std::string>{"order", "predicted"}), "--choose '{}' is not known",
           choose);
}

// Kernels of this machine are chosen by its own times alone.
Machine calibrated_here(const std::string& device) {
  const Machine machine = find_machine(device == "cpu" ? "here" : "here-gpu");
  if (time_model_for(machine).basis() != TimeModel::Basis::calibrated)
    reject(Hint{fmt::format("run `headroom calibrate --device {}` first: it takes a minute", device)},
           "--choose predicted needs the kernel times of this machine");
  return machine;
}

}  // namespace

EngineOptions Common::engine_options(const std::vector<std::string>& usual_kernels) const {
  if (streams < 1 || streams > kMaxStreams)
    reject("--streams is {}; it must be 1 to {}", streams, kMaxStreams);
  require_choose(choose);
  return {.precision = dtype(),
          .tf32 = tf32(),
          .deterministic = deterministic,
          .capture = capture,
          .streams = streams,
          .seed = seed,
          .update = {},
          .choose = choose == "order" ? chooser(usual_kernels)
                                      : chooser_for(calibrated_here(device), usual_kernels),
          .layout = layout_wish(),
          .tuning = &tuning_table(),
          .on_tuning = [bar = std::shared_ptr<Progress>()](const Tuner::Progress& p) mutable {
            if (p.problem == p.of) return bar.reset();
            if (bar == nullptr) bar = std::make_shared<Progress>("timing kernels");
            bar->update(static_cast<std::int64_t>(p.problem), static_cast<std::int64_t>(p.of), p.text);
          }};
}

TuningTable& tuning_table() {
  static TuningTable table(default_tuning_file());
  for (const std::string& warning : table.take_warnings()) note(fmt::format("headroom: {}\n", warning));
  return table;
}

LayoutWish Common::layout_wish() const {
  const auto wish = parse_layout_wish(layout);
  if (wish == LayoutWish::nhwc && device == "cpu")
    reject(Hint{"leave --layout out, or take --device cuda"},
           "--layout nhwc is for GPUs: CPU kernels read NCHW");
  if (wish) return *wish;
  reject(nearest(layout, std::vector<std::string>{"auto", "nchw", "nhwc"}), "unknown layout '{}'", layout);
}

void Common::use_level() const {
  for (const std::string& text : kernels)
    if (text.starts_with("cpu=")) use_cpu_level(text.substr(4));
}

Chooser Common::chooser(const std::vector<std::string>& usual) const {
  use_level();
  std::vector<std::pair<std::string, std::string>> choices;
  auto add = [&](const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      reject(Hint{"write --kernel conv2d=cpu:im2col_gemm"}, "--kernel '{}' does not name a kernel", text);
    const std::string op = text.substr(0, equals);
    if (op == "cpu") return;  // see use_level
    if (std::ranges::find(choices, op, &std::pair<std::string, std::string>::first) == choices.end())
      choices.emplace_back(op, text.substr(equals + 1));
  };
  for (const std::string& text : kernels) add(text);
  // A recipe's kernels are for CPUs; other devices have their own.
  if (device == "cpu")
    for (const std::string& text : usual) add(text);
  return choices.empty() ? first_that_accepts : forced(choices);
}

Chooser Common::chooser_for(const Machine& machine, const std::vector<std::string>& usual) const {
  require_choose(choose);
  if (choose == "order") return chooser(usual);
  return predicted_best(machine, time_model_for(machine), chooser(usual));
}

std::unique_ptr<Device> Common::open() const {
  use_level();
  require_threads(threads);
  return open_device(device, threads);
}

Machine Common::machine(Device& opened) const {
  Machine machine = ceilings_of(opened, threads, !one_of_several, warn);
  if (!machine.doubt.empty())
    warn(fmt::format("the ceilings of this machine are doubtful: {}", machine.doubt));
  use_libraries(machine, opened.capabilities().libraries);
  if (const std::string doubt = calibration_doubt(machine); !doubt.empty()) warn(doubt);
  return machine;
}

void warn(const std::string& what) { note(fmt::format("headroom: {}\n", with_options(what))); }

void add_json(Command verb, Common& common) {
  verb.flag("--json", common.json, "print one JSON object and nothing else on standard output");
}

void add_dim_option(Command verb, std::vector<std::string>& dims) {
  verb.option("--dim", dims, "an open size of an ONNX file: name=size, repeatable");
}

std::string with_dims(std::string model, const std::vector<std::string>& dims) {
  if (!dims.empty() && !is_onnx_name(model))
    reject(Hint{"leave --dim out"}, "--dim sets an open size of an ONNX file, but '{}' is not an ONNX file",
           model);
  bool first = model.ends_with(".onnx");
  for (const std::string& dim : dims) model += (std::exchange(first, false) ? ':' : ',') + dim;
  return model;
}

void add_run_options(Command verb, Common& common, Explains explains) {
  add_json(verb, common);
  add_table_options(verb, common.tables);
  verb.option("--device", common.device, "cpu, cuda, or cuda:1 for the second GPU");
  verb.option("--precision", common.precision,
              "fp32 or fp64; bf16 on CPUs with AMX, AVX512-BF16 or BF16 of Arm; on GPUs also tf32, bf16, "
              "fp16 (weights "
              "stay fp32)");
  verb.option("--seed", common.seed, "seed of weights, order and data");
  verb.option("--threads", common.threads, "CPU threads; 0: one per core");
  if (explains == Explains::yes)
    verb.flag("--explain", common.explain, "print why each kernel was chosen and why others refused");
  verb.option("--kernel", common.kernels,
              "force a kernel: op=name, op=library or op=own; cpu=v3: those of a lower level; repeatable");
  verb.option("--choose", common.choose,
              "kernels in the order of their lists (order), or by predicted time (predicted)");
  verb.option("--layout", common.layout, "on GPUs: memory layout of images: auto, nchw or nhwc");
  verb.flag("--deterministic", common.deterministic, "the same bits every run, on GPUs too");
  verb.flag("--graph,!--no-graph", common.capture,
            "on GPUs: run a step as one launch, or kernel by kernel, waiting for every loss");
  verb.option("--streams", common.streams,
              "on GPUs, in small networks: 2 computes gradients of weights beside those of activations, 3 "
              "sums as well");
}

namespace {
bool speaks = true;

void write(std::FILE* stream, const std::string& text) {
  if (speaks) std::fwrite(text.data(), 1, text.size(), stream);
}

// JSON writers leave DEL and U+0080 to U+009F as they are; terminals obey them.
std::string with_escaped_controls(const std::string& json) {
  std::string text;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const auto byte = [&](std::size_t at) {
      return at < json.size() ? static_cast<unsigned char>(json[at]) : 0;
    };
    const bool c1 = byte(i) == 0xC2 && byte(i + 1) >= 0x80 && byte(i + 1) < 0xA0;
    if (byte(i) == 0x7F || c1) {
      text += fmt::format("\\u{:04x}", c1 ? byte(++i) : byte(i));
    } else {
      text += json[i];
    }
  }
  return text;
}

}  // namespace

void be_silent() { speaks = false; }
// Names from files may hold escape codes, which must not reach a terminal.
void print(const std::string& text) { write(stdout, printable(text, true)); }
void note(const std::string& text) { write(stderr, printable(text, true)); }
void flush_output() { std::fflush(stdout); }
void draw(const std::string& text) { write(stderr, text); }
std::string with_options(std::string_view message) {
  static const std::regex setting("`([a-z][a-z-]*)`");
  return std::regex_replace(std::string(message), setting, "--$1");
}
std::string json_text(const Json& json) {
  // Paths need not be valid UTF-8; a bad one must not lose a finished run.
  return with_escaped_controls(json.dump(2, ' ', false, Json::error_handler_t::replace)) + "\n";
}
void print_json(const Json& json) { write(stdout, json_text(json)); }

}  // namespace headroom::cli
