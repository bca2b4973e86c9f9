#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "cli/command.h"
#include "cli/tables.h"
#include "device/device.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "report/record.h"
#include "train/engine.h"

namespace headroom::cli {

// Options with the same meaning under every verb.
struct Common {
  bool json = false;
  std::uint64_t seed = 0;
  std::string device = "cpu";
  std::string precision = "fp32";
  int threads = 0;
  bool explain = false;
  std::vector<std::string> kernels;  // op=name
  std::string choose = "order";      // or predicted
  std::string layout = "auto";

  bool capture = true, deterministic = false;
  int streams = 3;
  TableOptions tables;
  bool one_of_several = false;  // a rank with some of the cores: does not measure the machine

  DType dtype() const;      // type of stored activations
  DType cpu_dtype() const;  // the same for plans on a CPU: fp32 or fp64
  bool tf32() const { return precision == "tf32"; }
  bool rounds_on_cpu() const { return precision == "bf16" && device == "cpu"; }  // see Policy
  EngineOptions engine_options(const std::vector<std::string>& usual_kernels = {}) const;
  LayoutWish layout_wish() const;
  void use_level() const;  // of CPU kernels, where --kernel names one: cpu=v3
  // Kernels the user chose; `usual` are forced for operators the user did not mention.
  Chooser chooser(const std::vector<std::string>& usual = {}) const;
  // The same for a machine that need not be this one: with --choose predicted, by its predicted times.
  Chooser chooser_for(const Machine& machine, const std::vector<std::string>& usual = {}) const;
  std::unique_ptr<Device> open() const;
  // The measured ceilings of the open device: saved ones, or measured now, which takes seconds.
  Machine machine(Device& opened) const;
};

void add_json(Command verb, Common& common);
// "--dim sequence=128" is the same as "bert.onnx:sequence=128": appends the sizes to the model's name.
void add_dim_option(Command verb, std::vector<std::string>& dims);
std::string with_dims(std::string model, const std::vector<std::string>& dims);
enum class Explains { no, yes };  // whether the verb can print why each kernel was chosen
// Device, precision, seed, threads, kernel, …
void add_run_options(Command verb, Common& common, Explains explains = Explains::yes);

// The winners of earlier runs, from the cache folder.
TuningTable& tuning_table();

void be_silent();                     // silences the next two functions: only the first rank prints
void print(const std::string& text);  // to standard output
void flush_output();                  // so that a later failure cannot lose what was printed
void note(const std::string& text);   // to standard error: anything that is not the result
void warn(const std::string& what);   // to standard error: the run goes on, but the user should know
// Rewrites the settings in a library message as options: `batch` becomes --batch.
std::string with_options(std::string_view message);
void draw(const std::string& text);  // to standard error with escape codes of our own: for Progress
std::string json_text(const Json& json);
void print_json(const Json& json);

}  // namespace headroom::cli
