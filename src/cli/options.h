#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/command.h"
#include "device/device.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "train/engine.h"

namespace headroom::cli {

// Options that mean the same under every verb.
struct Common {
  bool json = false;
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::string precision = "fp32";
  int threads = 0;
  bool explain = false;
  std::vector<std::string> kernels;  // op=name
  std::string layout = "auto";

  bool capture = true, deterministic = false;
  int streams = 2;
  bool one_of_several = false;  // a rank with some of the cores, which tells nothing of the machine

  DType dtype() const;      // what activations are stored as
  DType cpu_dtype() const;  // the same, for what is planned for a CPU: fp32 or fp64
  bool tf32() const { return precision == "tf32"; }
  EngineOptions engine_options(const std::vector<std::string>& usual_kernels = {}) const;
  LayoutWish layout_wish() const;
  // Kernels of the user's choice; `usual` are forced where the user said nothing of the operator.
  Chooser chooser(const std::vector<std::string>& usual = {}) const;
  void require_threads() const;
  std::unique_ptr<Device> open() const;
  // The measured ceilings of the device that runs: saved ones, or measured now, which takes seconds.
  Machine machine(Device& opened) const;
};

void add_json(Command verb, Common& common);
// "--dim sequence=128" is the same as "bert.onnx:sequence=128": the model's name with the sizes behind it.
void add_dim_option(Command verb, std::vector<std::string>& dims);
std::string with_dims(std::string model, const std::vector<std::string>& dims);
void add_run_options(Command verb, Common& common);  // device, precision, seed, threads, explain, kernel

void be_silent();  // from now on the next two say nothing: of several ranks the first one speaks
void print(const std::string& text);  // to standard output
void note(const std::string& text);   // to standard error: anything that is not the result
// A message of the library with its settings as options: `batch` becomes --batch.
std::string with_options(std::string_view message);
std::string json_text(const Json& json);
void print_json(const Json& json);

}  // namespace headroom::cli
