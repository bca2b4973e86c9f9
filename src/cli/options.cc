#include "cli/options.h"

#include <cstdio>

#include "base/text.h"

namespace headroom::cli {

DType Common::dtype() const {
  const std::vector<std::string> names = {"fp64", "fp32", "tf32", "bf16", "fp16"};
  if (std::find(names.begin(), names.end(), precision) == names.end())
    reject(nearest(precision, names), "unknown precision '{}'", precision);
  const auto parsed = parse_dtype(precision);
  if (!parsed || (*parsed != DType::f32 && *parsed != DType::f64))
    reject(Hint{"use --precision fp32 or fp64"}, "the CPU does not compute in {}", precision);
  return *parsed;
}

Chooser Common::chooser() const {
  if (kernels.empty()) return first_that_accepts;
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& text : kernels) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      reject(Hint{"write --kernel conv2d=cpu:im2col_gemm"}, "--kernel '{}' names no kernel", text);
    choices.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return forced(choices);
}

std::unique_ptr<Device> Common::open() const {
  if (threads < 0 || threads > 4096) reject("--threads is {}; it must lie between 1 and 4096", threads);
  return open_device(device, threads);
}

void add_json(CLI::App& verb, Common& common) {
  verb.add_flag("--json", common.json, "print one JSON object and nothing else on standard output");
}

void add_run_options(CLI::App& verb, Common& common) {
  add_json(verb, common);
  verb.add_option("--device", common.device, "cpu")->capture_default_str();
  verb.add_option("--precision", common.precision, "fp32 or fp64")->capture_default_str();
  verb.add_option("--seed", common.seed, "seed of weights, order and data")->capture_default_str();
  verb.add_option("--threads", common.threads, "CPU threads; 0 takes one per core")->capture_default_str();
  verb.add_flag("--explain", common.explain, "say why each kernel was chosen and what refused");
  verb.add_option("--kernel", common.kernels, "force a kernel: op=name, repeatable");
}

void add_example(CLI::App& verb, const std::string& command) {
  const std::string before = verb.get_footer();
  verb.footer(before.empty() ? "Example:\n  " + command : before + "\n  " + command);
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }
void note(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }
void print_json(const Json& json) { print(json.dump(2) + "\n"); }

}  // namespace headroom::cli
