#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/sheet.h"
#include "machine/machine.h"
#include "plan/memory_timeline.h"
#include "plan/plan.h"
#include "predict/predict.h"
#include "profile/measurement.h"
#include "profile/resources.h"
#include "profile/sample_store.h"
#include "report/layers.h"
#include "train/engine.h"
#include "train/run_state.h"

namespace headroom {

// The run record: one JSON file from which every report can be made, on any machine. Every verb that measures
// writes it, with or without a training. docs/run-record.schema.json defines it. Records of version 1
// (trainings only, without variants, launches and samples) can still be read.
inline constexpr int kRecordVersion = 2;

// One step of a plan, without data that only an executor needs.
struct RecordedStep {
  std::string layer, phase, op, problem, kernel, variant, why;
  double variant_s = 0;
  std::vector<Refusal> refused = {};
  double flops = 0, bytes = 0;  // the minimum
  struct Launch {
    std::string family, unit;
    double flops = 0, bytes = 0, l2_bytes = 0;
    ProductExtent tile = {};
    std::int64_t blocks = 0;
    int count = 1;
  };
  std::vector<Launch> launches = {};  // the kernel's launches
  std::size_t workspace_bytes = 0;
  int stream = 0;
  bool could_branch = false;  // of a plan with one stream: a second one would take it
  std::vector<Charge> charges = {};
};

struct RecordedPlan {
  std::string mode, precision, device;
  std::int64_t batch = 1;
  int threads = 1, streams = 1;
  std::size_t arena_bytes = 0, unshared_bytes = 0;
  std::vector<PassReport> passes = {};
  std::vector<RecordedStep> steps = {};
};
RecordedPlan record_plan(const Plan& plan, const std::vector<PassReport>& passes = {});

// Memory of the plan, step by step, beside what the run really took.
struct RecordedMemory {
  MemoryTimeline planned;
  std::int64_t real_peak_bytes = 0;  // see real_peak_bytes(); 0: unknown
};

// Data that only a training has.
struct RecordedTraining {
  double images_per_s = 0, train_s = 0, eval_s = 0;
  bool classifier = true;
  std::string diverged = {};  // a sentence if it did
  bool interrupted = false;   // stopped early: by a signal, or because a file could not be written
  std::vector<EpochResult> epochs = {};
  // Seconds on the clock of the record's samples; of a resumed run only those since then. Losses are thinned.
  std::vector<double> epoch_end_s = {}, loss_s = {}, losses = {};
};

struct RunRecord {
  int version = kRecordVersion;  // version of the file it was read from
  std::string verb = {};         // "train", "bench nets"
  std::vector<std::string> command = {};
  std::string program = {}, commit = {}, compiler = {}, time = {};  // version of the program, …, UTC
  std::optional<Machine> machine = {};                              // the ceilings behind the floors
  struct Model {
    std::string name;
    std::int64_t parameters = 0;
    Json net = nullptr;  // as a net.json
  };
  std::optional<Model> model = {};
  std::string data = {};
  std::optional<RecordedPlan> plan = {};
  std::optional<RecordedMemory> memory = {};  // records of older programs have none
  std::optional<Prediction> prediction = {};
  std::optional<Measurement> measurement = {};
  Spread whole = {};                      // of all whole runs; a file keeps only some of their samples
  std::vector<LayerReading> layers = {};  // both readings joined
  double wall_s = 0;
  Resources resources = {};
  std::optional<RecordedTraining> training = {};
  std::optional<Samples> samples = {};  // the machine during the run
  std::vector<Sheet> tables = {};       // other measurements: a benchmark's rows
  Json ranks = nullptr;                 // null with a single rank
};

// A new record of this program and time: everything that is not about the run.
RunRecord start_record(std::string verb, std::vector<std::string> command);
RunRecord::Model recorded_model(const Engine& engine);
// Memory that the run really took: on a CPU the peak of the process, data and libraries included; on a GPU
// the weights and the arena that the engine holds there.
std::int64_t real_peak_bytes(const Engine& engine, const Plan& plan, const Resources& resources);
// Both readings of a plan, their totals by layer, and the plan's memory.
void add_readings(RunRecord& record, const Plan& plan, const std::vector<PassReport>& passes,
                  const Prediction& prediction, const Measurement& measurement, std::int64_t real_bytes = 0);

// Of the whole runs: as it was read, else of the samples.
Spread whole_spread(const RunRecord& record);

Json to_json(const RunRecord& record);
// Rejects, by name: a file that is not a record, an unknown version, and fields that are missing or wrong.
RunRecord record_from_json(const Json& json, const std::string& origin);
RunRecord read_record(const std::filesystem::path& path);

// Parts that --json output shares with records.
Json prediction_json(const Plan& plan, const Prediction& prediction);
Json epoch_json(const EpochResult& epoch, bool classifier);
Json spread_json(const Spread& seconds);  // milliseconds: median, p10, p90, samples

}  // namespace headroom
