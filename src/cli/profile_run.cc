#include "cli/profile_run.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/random_batch.h"
#include "cli/run_watch.h"
#include "cli/signals.h"
#include "profile/cpu_counters.h"
#include "profile/gather_traces.h"
#include "profile/gpu_counting.h"
#include "report/profile_files.h"
#include "report/profile_memory.h"
#include "report/profile_ranges.h"
#include "report/profile_report.h"
#include "train/watched_steps.h"

namespace headroom::cli {
namespace {

const SpanName kForwardPassSpan{"batch iteration"};

// Sets and counters of a GPU that a CPU does not have.
bool is_of_gpus_alone(const std::string& word) {
  const auto has = [&](const auto& list) {
    return std::ranges::any_of(list, [&](const auto& item) { return item.name == word; });
  };
  return (has(gpu_counter_sets()) || has(gpu_counters())) && !has(cpu_counter_sets()) && !has(cpu_counters());
}

void require_counters(const ProfileOptions& options) {
  for (const std::string& word : split(options.counters, ',')) {
    if (word.empty())
      reject(Hint{"--counters list shows all"},
             "--counters is '{}'; it must name sets and counters, separated by commas", options.counters);
    if (word == "list")
      reject(Hint{"give it alone"}, "--counters list shows what there is, and counts nothing");
    if (!options.on_gpu && is_of_gpus_alone(word))
      reject(Hint{"add --device cuda"}, "--counters: a CPU has no '{}'; a GPU counts it", word);
  }
}

std::vector<std::string> counters_of(const ProfileOptions& options) {
  if (options.counters.empty()) return {};
  return options.on_gpu ? gpu_counters_named(options.counters) : cpu_counters_named(options.counters);
}

// Empty: no samples.
std::optional<std::int64_t> sample_us_of(const ProfileOptions& options) {
  if (!options.pm_sampling) return {};
  constexpr std::int64_t kUsual = 20, kMin = 5, kMax = 10'000;
  if (options.pm_sampling->empty()) return kUsual;
  const std::int64_t us = parse_int(*options.pm_sampling, "--pm-sampling");
  if (us < kMin || us > kMax)
    reject("--pm-sampling is {}; it must lie between {} and {} microseconds", us, kMin, kMax);
  return us;
}

// What --open, --card, --memory and --zoom show, one after the other. Empty: none was asked for.
std::string chosen_views(const RunProfile& profile, const ProfileOptions& options, const TableView& view) {
  std::vector<std::string> views;
  if (!options.open.empty()) views.push_back(open_layer_sheet(profile, options.open).text(view));
  if (!options.card.empty()) views.push_back(profile_card(profile, options.card));
  if (options.memory)
    views.push_back(memory_sheet(profile.record).text(view) + "\n" + memory_chart(profile.record, view));
  if (!options.zoom.empty()) views.push_back(zoom_sheet(profile, options.zoom).text(view));
  return fmt::format("{}", fmt::join(views, "\n"));
}

}  // namespace

Sheet zoom_sheet(const RunProfile& profile, const std::string& range) {
  return ranges_sheet(zoomed(range_rows(profile.trace, TracePart::whole_run), range));
}

void add_profile_folder(Command verb, ProfileOptions& options) {
  verb.option("--profile", options.out,
              "watch some steps, and write record, traces and tables into this folder; see headroom profile");
}

void add_profile_options(Command verb, ProfileOptions& options) {
  verb.option("--steps", options.steps, "number of steps to watch, after warm-up");
  verb.option("--sample-ms", options.sample_ms, "time between two samples of cores, memory and GPU; 0: none");
  verb.option("--trace-steps", options.trace_steps, "number of steps in the trace files");
  verb.flag("--prove", options.prove, "run the remedy of each finding; print expected beside measured gain");
  verb.flag("--memory", options.memory, "show the memory of the step by role, and over its steps");
  verb.flag("--energy", options.energy, "joules of each layer, repeated for a second");
  verb.flag("--managed", options.managed,
            "on GPUs: count pages of managed memory that move; starting takes two seconds more");
  verb.flag("--nvtx", options.nvtx, "emit every span as a range that NVIDIA's tools show");
  verb.option("--counters", options.counters,
              "count in steps of their own: sets and counters by name, separated by commas; list shows all");
  verb.option_with_optional_value(
      "--pm-sampling", "[US]", options.pm_sampling,
      "on GPUs: repeat the step, and sample its counters every so many microseconds; without a number 20");
  verb.option("--chip", options.chip, "with --device cuda --counters list: of this chip, such as GA100");
  verb.option("--code", options.code,
              "describe the machine code of kernels with this in their names, without a run: registers, mix");
  verb.option("--open", options.open, "show the operators and kernels of this layer");
  verb.option("--zoom", options.zoom, "show the ranges below this one: train, batch, phase or a span's name");
  verb.option("--card", options.card, "show how this kernel was launched: a name, or a part of one");
}

void require_profile(const ProfileOptions& options) {
  if (options.steps < 1 || options.steps > 100000)
    reject("--steps is {}; it must lie between 1 and 100000", options.steps);
  if (options.sample_ms != 0 && (options.sample_ms < 10 || options.sample_ms > 60000))
    reject("--sample-ms is {}; it must lie between 10 and 60000, or be 0", options.sample_ms);
  if (options.trace_steps < 1) reject("--trace-steps is {}; it must be at least 1", options.trace_steps);
  if (options.nvtx && !spans::has_nvtx())
    reject(Hint{"build it where the CUDA toolkit is"}, "--nvtx: this program was built without NVTX");
  if (!options.chip.empty())
    reject(Hint{"leave it out: the GPU's own chip counts"}, "--chip is for --counters list");
  if (!options.counters.empty()) require_counters(options);
  counters_of(options);
  if (sample_us_of(options) && !options.on_gpu)
    reject(Hint{"add --device cuda"}, "--pm-sampling is about the counters of a GPU");
  if (options.out.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(options.out, error);
  if (error)
    reject(Hint{"give another folder"}, "cannot make the folder {}: {}", options.out, error.message());
  require_writable(std::filesystem::path(options.out) / "record.json");
}

ProfileRun::ProfileRun(const ProfileOptions& options)
    : options_(options),
      profiler_(options.steps, options.nvtx,
                {.delays = !options.card.empty(),
                 .pages = options.managed,
                 .counters_follow = options.pm_sampling.has_value()},
                counters_of(options)),
      repeated_({.energy = options.energy, .sample_us = sample_us_of(options)}) {
  if (options.sample_ms > 0) sampler_.emplace(sources_of_run(), double(options.sample_ms) / 1e3);
}

StepWatch& ProfileRun::watch(Device& device, const Plan& plan, int rank) {
  if (!options_.card.empty() && device.kind() == DeviceKind::cpu)
    reject(Hint{"add --device cuda"}, "--card is about a kernel of a GPU");
  require_gpu_counters(device, counters_of(options_));
  std::vector<std::string> layers;
  for (const Step& step : plan.steps)
    for (const Charge& charge : step.charges)
      if (std::ranges::find(layers, charge.layer) == layers.end()) layers.push_back(charge.layer);
  if (!options_.open.empty() && std::ranges::find(layers, options_.open) == layers.end())
    reject(nearest(options_.open, layers), "--open: there is no layer '{}'", options_.open);
  gpu_facts_ = gpu_facts(device);  // now: the device may be closed before the end
  return profiler_.watch(device, plan, rank);
}

void ProfileRun::on_step(std::int64_t /*step*/, std::int64_t /*of*/, double loss) {
  constexpr std::size_t kMaxLosses = 100000;
  if (losses_.size() < kMaxLosses)
    losses_.push_back({1e-9 * double(spans::now_ns() - profiler_.origin_ns()), loss});
}

void ProfileRun::measure_repeated(const Engine::Ready& ready, Device& device, const std::string& name) {
  if (!repeated_.wanted(profiler_.counters_refused())) return;
  // The feed of the training is gone, and its memory with it.
  const Program& program = ready.program;
  const RandomBatch batch(device, program, program.graph.value(program.images).type.shape[0]);
  ready.executor->bind(program.images, batch.image(0));
  if (program.labels != kNone) ready.executor->bind(program.labels, batch.label(0));
  measure_repeated(*ready.executor, device, name);
}

void ProfileRun::measure_repeated(Executor& executor, Device& device, const std::string& name) {
  repeated_.measure(executor, device, name, profiler_.tracer(), profiler_.counters_refused());
}

const RunProfile& ProfileRun::finish(RunRecord record, const Plan& plan, Groups* groups) {
  if (sampler_) profile_.samples = sampler_->stop();
  profile_.trace = profiler_.finish();
  profile_.losses = std::move(losses_);
  profile_.facts = host_facts();
  std::ranges::copy(gpu_facts_, std::back_inserter(profile_.facts));
  std::ranges::copy(process_facts(), std::back_inserter(profile_.facts));
  if (groups != nullptr) profile_.trace = gather_traces(profile_.trace, profiler_.origin_ns(), *groups);
  profile_.record = std::move(record);
  if (profile_.samples) profile_.record.samples = kept_samples(*profile_.samples);
  repeated_.add_to(profile_);
  Measurement measured = measured_steps(profile_.trace, plan.steps.size());
  profiler_.add_counters(measured);
  if (!measured.empty() && profile_.record.prediction) {
    profile_.record.layers = read_layers(plan, *profile_.record.prediction, measured);
    profile_.record.measurement = std::move(measured);
  }
  return profile_;
}

void ProfileRun::print(const Common& common) const {
  if (common.json) {
    Json json = profile_json(profile_);
    if (proofs_) json["proofs"] = proofs_->objects();
    if (!options_.open.empty()) json["open"] = open_layer_sheet(profile_, options_.open).objects();
    if (!options_.card.empty()) json["card"] = profile_cards(profile_, options_.card).objects();
    if (!options_.zoom.empty()) json["zoom"] = zoom_sheet(profile_, options_.zoom).objects();
    return print_json(json);
  }
  const std::string views = chosen_views(profile_, options_, common.tables.view());
  cli::print(views.empty()
                 ? with_options(profile_text(profile_, common.tables.view(), common.tables.layers()))
                 : views);
  if (proofs_ && proofs_->rows() > 0) cli::print("\n" + proofs_->text(common.tables.view()));
}

void ProfileRun::write() const {
  if (options_.out.empty()) return;
  write_profile(profile_, options_.out, static_cast<int>(options_.trace_steps));
  if (proofs_) write_file(std::filesystem::path(options_.out) / "tables" / "proofs.csv", proofs_->csv());
}

void ProfileRun::say_where() const {
  if (options_.out.empty()) return;
  if (profile_.trace.windows.empty()) warn(fmt::format("the profile is empty. {}", kNothingWatched));
  note(fmt::format("headroom: the profile is in {}\n", options_.out));
}

void watch_passes(Inference& inference, Device& device, ProfileRun& profile) {
  WatchedSteps watched(&profile.watch(device, *inference.plan()));
  const auto idle = [&] { device.stream().synchronize(); };
  note_signals();
  while (!profile.is_done() && noted_signal() == 0) {
    watched.before(true, idle);
    const Span span(kForwardPassSpan, SpanKind::batch);
    inference.repeat(watched.recorders());
    watched.after(true, idle);
  }
  watched.finish(idle);
}

}  // namespace headroom::cli
