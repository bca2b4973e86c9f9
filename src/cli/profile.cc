// The verb profile: where every microsecond of a step went, as it really runs. With data it watches a
// training; without, the forward pass on random inputs.
#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/text.h"
#include "cli/counter_list.h"
#include "cli/machine_code.h"
#include "cli/profile_program.h"
#include "cli/profile_run.h"
#include "cli/prove.h"
#include "cli/saving.h"
#include "cli/training_run.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "models/zoo.h"
#include "predict/predict.h"
#include "profile/resources.h"
#include "timing/step_model.h"
#include "train/inference.h"

namespace headroom::cli {
namespace {

struct ProfileRequest {
  RunRequest run;
  ProgramRequest program;
  Common common;
  ProfileOptions profile;
  std::string mode;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto* data = reinterpret_cast<const std::byte*>(values.data());
  return {data, data + values.size() * sizeof(T)};
}

// Normal numbers for floats. Integers may be tokens, lengths or masks: 1 is a valid one of each.
NamedTensor random_input(const PortType& port, std::int64_t batch, std::uint64_t seed) {
  const bool real = is_float(port.dtype) || is_16bit(port.dtype);
  TensorType type{port.shape, real ? DType::f32 : DType::i64};
  if (port.batch_axis != kNone) {
    std::vector<std::int64_t> extents = port.shape.vector();
    extents[static_cast<std::size_t>(port.batch_axis)] = batch;
    type.shape = Shape(extents);
  }
  const auto count = static_cast<std::size_t>(type.shape.numel());
  const Philox random(seed, stream_of(0x70726F66, std::hash<std::string>{}(port.name)));
  if (!real) return {port.name, type, bytes_of(std::vector<std::int64_t>(count, 1))};
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random.normal(i));
  return {port.name, type, bytes_of(values)};
}

// The forward pass on random inputs, watched.
std::unique_ptr<ProfileRun> profiled_forward(const RunRequest& request, const Common& common,
                                             const ProfileOptions& options) {
  auto profile = std::make_unique<ProfileRun>(options);
  const Net net = find_net(with_dims(request.model, request.dims));
  const auto device = common.open();
  Engine engine(net, *device, common.engine_options());
  if (!request.weights.empty()) load(engine, request.weights);
  Inference inference(engine);
  const std::int64_t fixed = fixed_batch(net);
  const std::int64_t batch = fixed > 0 ? fixed : request.batch.value_or(1);
  if (batch < 1) reject("--batch is {}; it must be at least 1", batch);
  std::vector<NamedTensor> arrays;
  for (const PortType& port : inference.inputs()) arrays.push_back(random_input(port, batch, common.seed));
  inference.run(arrays);
  const Plan& plan = *inference.plan();
  if (common.explain) note(inference.explain());
  watch_passes(inference, *device, *profile);
  profile->measure_repeated(inference.executor(), *device, common.device);
  const Machine machine = common.machine(*device);
  RunRecord record = start_record("profile", command_line());
  record.machine = machine;
  record.model = recorded_model(engine);
  record.resources = process_resources();
  add_readings(record, plan, inference.passes(), predict(plan, machine, time_model_for(machine)), {},
               real_peak_bytes(engine, plan, record.resources));
  profile->finish(std::move(record), plan);
  return profile;
}

std::optional<RunProfile> profiled_forward_again(const RunRequest& request, const Common& common,
                                                 const ProfileOptions& options) {
  const std::int64_t fixed = fixed_batch(find_net(with_dims(request.model, request.dims)));
  if (fixed > 0 && request.batch.value_or(fixed) != fixed) return {};
  return profiled_forward(request, common, options)->profile();
}

// The parser took every option of train: those that are not listed here need a training, or its data.
void reject_training_options(const ProfileRequest& r) {
  static const std::set<std::string> of_passes = {
      "--mode",   "--out",      "--steps",   "--sample-ms", "--trace-steps", "--prove",  "--memory",
      "--energy", "--nvtx",     "--managed", "--counters",  "--pm-sampling", "--open",   "--zoom",
      "--card",   "--dim",      "--batch",   "--weights",   "--record",      "--report", "--json",
      "--width",  "--wide",     "--sort",    "--top",       "--summary",     "--device", "--precision",
      "--seed",   "--threads",  "--explain", "--kernel",    "--choose",      "--layout", "--deterministic",
      "--graph",  "--no-graph", "--streams", "--chip",      "--step-range",  "--window", "--layers",
      "--graphs"};
  for (const std::string& word : command_line()) {
    const std::string name = word.substr(0, word.find('='));
    if (!r.mode.empty() && name == "--data") {
      note("headroom: --mode eval profiles the forward pass on random inputs; --data is not read\n");
      continue;
    }
    if (name.starts_with("--") && !of_passes.contains(name))
      reject(Hint{r.mode.empty() ? "leave it out, or give --data" : "leave it out, or take --mode train"},
             "{} is for trainings, but profile runs a forward pass on random inputs here", name);
  }
}

void profile_forward(const ProfileRequest& r) {
  reject_training_options(r);
  require_profile(r.profile);
  require_files(r.run.files);
  const auto profile = profiled_forward(r.run, r.common, r.profile);
  if (r.mode.empty()) note("headroom: no --data: the forward pass on random inputs is profiled\n");
  if (r.profile.prove)
    profile->add_proofs(prove(profile->profile(), r.run, r.common, r.profile, profiled_forward_again));
  Saving saving;
  saving.attempt([&] { profile->write(); });
  saving.attempt([&] { write_files(r.run.files, profile->profile()); });
  profile->print(r.common);
  flush_output();
  saving.finish();
  profile->say_where();
}

// The mode that was asked for, else the one the model and its data allow.
bool trains(const ProfileRequest& r) {
  const std::vector<std::string> modes = {"train", "eval"};
  if (!r.mode.empty() && std::ranges::find(modes, r.mode) == modes.end())
    reject(nearest(r.mode, modes), "unknown mode '{}'", r.mode);
  if (!r.mode.empty()) return r.mode == "train";
  if (!r.run.recipe.empty()) return true;
  return !r.run.data.empty();
}

void run_program_profile(const ProfileRequest& r) {
  require_tables(r.common.tables, {});
  for (const auto& [value, what] : {std::pair(&r.run.model, "a model"),
                                    {&r.run.recipe, "--recipe"},
                                    {&r.run.data, "--data"},
                                    {&r.mode, "--mode"}})
    if (!value->empty())
      reject(Hint{"give only one of the two"}, "{} and a program after -- exclude each other", what);
  profile_program(r.program, r.profile, r.common, r.run.files);
}

void run(ProfileRequest& r) {
  r.profile.on_gpu = r.common.device != "cpu" || !r.program.command.empty();
  if (r.profile.counters == "list") {
    if (r.run.files.any() || !r.profile.out.empty())
      reject(Hint{"leave the file out, or name counters"},
             "--counters list runs nothing that a file could record");
    if (r.profile.on_gpu) return list_gpu_counters(r.common, r.profile.chip);
    if (!r.profile.chip.empty()) reject(Hint{"add --device cuda"}, "--chip is about the counters of a GPU");
    return list_cpu_counters(r.common);
  }
  if (!r.profile.code.empty()) return describe_code(r.common, r.profile.code);
  if (!r.program.command.empty()) return run_program_profile(r);
  reject_program_options(r.program);
  require_tables(r.common.tables, profiled_layer_columns());
  if (r.run.model.empty() && r.run.recipe.empty())
    reject(Hint{"headroom model list names them"}, "profile needs a model or a --recipe");
  if (!r.run.check_against.empty())
    reject(Hint{"use headroom train for that"}, "profile does not take --check-against");
  if (trains(r)) return profiled_training_run(r.run, r.common, r.profile, true);
  profile_forward(r);
}

}  // namespace

void add_profile(Command app) {
  auto r = std::make_shared<ProfileRequest>();
  Command verb = app.verb("profile", "watch the steps of a network: where the time of each layer goes");
  verb.option("model", r->run.model, "zoo name with options (mlp:hidden=64), a net.json or an ONNX file");
  verb.option("--recipe", r->run.recipe, "a published case, see headroom recipe list; or a JSON file");
  verb.option("--mode", r->mode, "train, or eval for the forward pass alone; else by model and data");
  add_program_options(verb, r->program);
  add_profile_options(verb, r->profile);
  verb.option("-o,--out", r->profile.out, "write record, traces and all tables into this folder");
  add_training_options(verb, r->run, r->common);
  verb.example("headroom profile lenet5 --data glyphs -o lenet5-profile");
  verb.example("headroom profile model.onnx --batch 8");
  verb.example("headroom profile alexnet --data glyphs --device cuda --open conv2");
  verb.example("headroom profile lenet5 --data glyphs --counters seed");
  verb.example("headroom profile --device cuda --counters list");
  verb.example("headroom profile resnet:depth=18 --batch 64 --device cuda --pm-sampling");
  verb.example("mpirun -n 2 headroom profile mlp --data mnist");
  verb.example("headroom profile -o train-profile -- python3 train.py");
  verb.example("headroom profile --layers torch --counters seed -- python3 train.py");
  verb.runs_on_ranks([r] { run(*r); });
}

}  // namespace headroom::cli
