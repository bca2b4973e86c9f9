// headroom profile: its tables add up to the step, its files can be read again, and it changes no result.
#include <cmath>

#include "base/text.h"
#include "report/profile_files.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliProfile : public ProgramTest {
 protected:
  Json profile(const Words& words) const {
    return Json::parse(succeed(with(with({"profile"}, words), {"--json"})).out);
  }
  const Words small_ = {"lenet5", "--data",  "glyphs", "--train-size", "640", "--test-size",
                        "64",     "--batch", "32"};
};

double cell(const Json& rows, const char* key, const std::string& name, const char* column) {
  for (const Json& row : rows)
    if (row.at(key) == name) return row.value(column, 0.0);
  ADD_FAILURE() << "no row " << name;
  return 0;
}

TEST_F(CliProfile, PartsAndLayersAddUpToTheStep) {
  const Json json = profile(with(small_, {"--steps", "12"}));
  const Json& step = json.at("tables").at("step");
  double sum = 0, percent = 0;
  for (const Json& row : step) sum += row.at("ms").get<double>(), percent += row.at("percent").get<double>();
  EXPECT_NEAR(percent, 100, 1) << step;
  const Json& layers = json.at("tables").at("layers");
  double rows = 0, forward = 0;
  for (const Json& row : layers) {
    const std::string name = row.at("layer");
    if (name == "all layers") break;
    rows += row.at("total_ms").get<double>();
    forward += row.value("forward_ms", 0.0);
  }
  const double all = cell(layers, "layer", "all layers", "total_ms");
  EXPECT_NEAR(rows, all, 1e-6 * all);
  EXPECT_NEAR(forward, cell(layers, "layer", "all layers", "forward_ms"), 1e-6 * all);
  EXPECT_NEAR(all, cell(step, "part", "compute", "ms"), 0.02 * sum);
  EXPECT_GT(cell(layers, "layer", "C1", "backward_ms"), 0);
  const Json& measurement = json.at("record").at("measurement");
  EXPECT_EQ(measurement.at("steps").at(0).at("samples_us").size(), 12u) << "one sample per step watched";
}

TEST_F(CliProfile, AModelWithoutDataIsProfiledForward) {
  const Outcome outcome = succeed({"profile", "lenet5", "--batch=4", "--steps", "5", "--seed", "2",
                                   "--threads", "1", "--no-graph", "--sort", "total ms", "-o", "p"});
  EXPECT_NE(outcome.err.find("no --data"), outcome.err.npos);
  EXPECT_NE(outcome.out.find("5 steps watched"), outcome.out.npos) << outcome.out;
  const Json json = profile({"lenet5", "--batch", "4", "--steps", "5"});
  EXPECT_EQ(cell(json.at("tables").at("layers"), "layer", "all layers", "backward_ms"), 0);
}

// Times are of other steps than counts: the table of the step has nothing of the reading.
TEST_F(CliProfile, CountersAreThereByLayerAndByKernel) {
  const Json list = profile({"--counters", "list"}).at("counters");
  EXPECT_EQ(cell(list, "counter", "task-clock", "none"), 0);
  if (list.at(0).at("here") != "yes") GTEST_SKIP() << list.at(0).at("here");
  const Json json = profile(with(small_, {"--steps", "5", "--epochs", "3", "--counters", "system"}));
  const Json &layers = json.at("tables").at("layer_counters"),
             &kernels = json.at("tables").at("kernel_counters");
  double by_layer = 0, by_kernel = 0;
  for (const Json& row : layers) by_layer += row.at("core_ms").get<double>();
  for (const Json& row : kernels) by_kernel += row.at("core_ms").get<double>();
  EXPECT_GT(by_layer, 0);
  EXPECT_NEAR(by_layer, by_kernel, 1e-9 * by_layer);
  EXPECT_GT(cell(layers, "layer", "C1", "core_ms"), 0);
  const Json& steps = json.at("record").at("measurement").at("steps");
  EXPECT_EQ(steps.at(0).at("samples_us").size(), 5u);
  EXPECT_GE(steps.at(0).at("counters").at("task-clock").get<double>(), 0);
}

// What a chip counts is known without a GPU.
TEST_F(CliProfile, CountersOfAChipCanBeListedAnywhere) {
  const Words list = {"profile", "--device", "cuda", "--counters", "list"};
  const Outcome outcome = run(with(list, {"--json"}));
  if (outcome.code == 1) GTEST_SKIP() << outcome.err;  // no CUDA, or no CUPTI
  const Json json = Json::parse(outcome.out);
  EXPECT_EQ(json.at("chip"), "GH100");
  EXPECT_EQ(cell(json.at("sets"), "set", "seed", "passes"), 2);
  EXPECT_EQ(cell(json.at("sets"), "set", "seed", "steps"), 2);
  for (const Json& row : json.at("counters")) EXPECT_TRUE(row.contains("metric")) << row;
  const std::string text = succeed(with(list, {"--chip", "GA100"})).out;
  EXPECT_NE(text.find("Counters of GA100"), text.npos) << text;
  const Outcome wrong = run(with(list, {"--chip", "GH10"}));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'GH100'"), wrong.err.npos) << wrong.err;
}

// A script stands for the tool of the CUDA toolkit.
TEST_F(CliProfile, CodeDescribesTheKernelsThatAToolLists) {
  put("usage",
      "arch = sm_90\n Function _Z4axpyPf:\n  REG:40 STACK:0 SHARED:0 LOCAL:8 TEXTURE:0\n"
      " Function _Z6gatherPf:\n  REG:16 STACK:0 SHARED:0 LOCAL:0 TEXTURE:0\n");
  put("code",
      "code for sm_90\n Function : _Z4axpyPf\n /*0000*/ FFMA R5, R2, R4, R3 ; /* 0x0 */\n"
      " /*0010*/ EXIT ; /* 0x0 */\n");
  put("cuobjdump",
      "#!/bin/sh\ncase $1 in\n-res-usage) exec cat usage ;;\n"
      "-xelf) echo _Z4axpyPf > a.cubin && echo _Z6gatherPf > b.cubin ;;\n"
      "-sass) [ \"${2##*/}\" = a.cubin ] && exec cat code ;;\nesac\n");
  std::filesystem::permissions(file("cuobjdump"), std::filesystem::perms::owner_all);
  const auto described = [&](const std::string& part) {
    return run_shell("PATH=.:$PATH \"$0\" profile --json --code " + part);
  };
  const Outcome outcome = described("axpy");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json rows = Json::parse(outcome.out).at("machine_code");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows.at(0).at("registers"), 40);
  EXPECT_EQ(rows.at(0).at("spill_bytes"), 8);
  EXPECT_EQ(rows.at(0).at("fp32_percent"), 50);
  const Outcome wrong = described("axpi");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'axpy'"), wrong.err.npos) << wrong.err;
}

TEST_F(CliProfile, TheFolderHoldsWhatTheTablesAreMadeOf) {
  succeed(with(with({"profile"}, small_), {"--steps", "6", "-o", "p"}));
  const RunProfile profile = read_profile(file("p"));
  EXPECT_EQ(profile.record.model->name, "lenet5");
  ASSERT_FALSE(profile.trace.windows.empty());
  int steps = 0;
  for (const Trace::Window& window : profile.trace.windows) steps += window.steps;
  EXPECT_EQ(steps, 6);
  EXPECT_EQ(read_file(file("p/tables/step.csv")), step_sheet(profile.trace).csv());
  const std::string csv = read_file(file("p/tables/layers.csv")), again = profiled_layer_sheet(profile).csv();
  ASSERT_EQ(split(csv, '\n').size(), split(again, '\n').size());
  for (std::size_t i = 1; i + 1 < split(csv, '\n').size(); ++i) {  // the record holds milliseconds
    const auto was = split(split(csv, '\n')[i], ','), is = split(split(again, '\n')[i], ',');
    EXPECT_EQ(was[0], is[0]);
    if (was.size() == 13) {
      EXPECT_NEAR(std::stod(was[4]), std::stod(is[4]), 1e-9);
    }
  }
}

// Evaluations and short batches lie between the steps that are watched.
TEST_F(CliProfile, ShortEpochsInterruptTheWindow) {
  succeed({"profile", "lenet5", "--data", "glyphs", "--train-size", "80", "--test-size", "32", "--batch",
           "32", "--steps", "9", "-o", "p"});
  const RunProfile profile = read_profile(file("p"));
  EXPECT_GT(profile.trace.windows.size(), 3u);
  int steps = 0;
  for (const Trace::Window& window : profile.trace.windows) steps += window.steps;
  EXPECT_EQ(steps, 9);
  EXPECT_NEAR(step_parts(profile.trace).sum(), step_parts(profile.trace).step, 1e-6);
  for (const Trace::Span& span : profile.trace.spans) {
    if (span.kind != SpanKind::evaluation) continue;
    for (const Trace::Window& w : profile.trace.windows)
      EXPECT_TRUE(span.end_ns <= w.begin_ns || w.end_ns <= span.begin_ns) << "an evaluation in a window";
  }
}

TEST_F(CliProfile, WeightsHaveTheSameBitsWithAndWithout) {
  const Words train = {"train", "lenet5", "--train-size", "640", "--test-size", "64", "--epochs", "1"};
  succeed(with(train, {"--save", "plain.safetensors"}));
  succeed(with(train, {"--save", "watched.safetensors", "--profile", "p"}));
  EXPECT_EQ(read_file(file("plain.safetensors")), read_file(file("watched.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(file("p/record.json")));
}

TEST_F(CliProfile, EvalAndRunTakeAFolderToo) {
  succeed({"train", "lenet5", "--train-size", "320", "--test-size", "64", "--epochs", "1", "--save", "w.st"});
  succeed({"eval", "lenet5", "--weights", "w.st", "--test-size", "640", "--batch", "16", "--profile", "e"});
  EXPECT_GT(step_parts(read_profile(file("e")).trace).compute, 0);
}

// A network that computes less than its loader: more loader threads are the remedy, if the machine is quiet.
TEST_F(CliProfile, RemediesAreTried) {
  const Json json = profile({"mlp:hidden=8", "--data", "glyphs", "--train-size", "5120", "--augment",
                             "crop,flip", "--batch", "512", "--steps", "5", "--prove"});
  ASSERT_TRUE(json.contains("proofs"));
  for (const Json& proof : json.at("proofs")) {
    EXPECT_GT(proof.at("expected_ms"), 0) << proof;
    EXPECT_GT(proof.at("after_ms"), 0) << proof;
    EXPECT_EQ(proof.at("before_ms"), json.at("proofs").at(0).at("before_ms"));
  }
}

// Whatever is found about a forward pass, its remedies are run as forward passes.
TEST_F(CliProfile, RemediesOfAForwardPassAreTried) {
  const Json json = profile({"lenet5", "--batch", "4", "--steps", "5", "--prove"});
  ASSERT_TRUE(json.contains("proofs"));
  for (const Json& proof : json.at("proofs")) EXPECT_GT(proof.at("after_ms"), 0) << proof;
}

TEST_F(CliProfile, ALayerOpens) {
  const Outcome outcome = succeed(with(with({"profile"}, small_), {"--steps", "3", "--open", "C3"}));
  for (const char* part : {"forward", "backward", "update", "conv2d", "floor ms"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part << outcome.out;
}

TEST_F(CliProfile, MemoryIsShownByRoleAndOverTheStep) {
  const Outcome outcome = succeed(with(with({"profile"}, small_), {"--steps", "3", "--memory"}));
  for (const char* part : {"parameters", "activations", "at the peak", "real", "|"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part << outcome.out;
}

TEST_F(CliProfile, RangesZoom) {
  const Outcome outcome = succeed(with(with({"profile"}, small_), {"--steps", "3", "--zoom", "phase"}));
  for (const char* part : {"forward", "backward", "step", "conv2d"})
    EXPECT_NE(outcome.out.find(part), outcome.out.npos) << part << outcome.out;
  EXPECT_EQ(outcome.out.find("batch iteration"), outcome.out.npos) << outcome.out;
}

TEST_F(CliProfile, EveryViewThatIsAskedForIsShown) {
  const Words few = with(small_, {"--steps", "3"});
  const std::string text =
      succeed(with(with({"profile"}, few), {"--open", "C3", "--memory", "--zoom", "phase"})).out;
  for (const char* part : {"floor ms", "at the peak", "conv2d", "backward"})
    EXPECT_NE(text.find(part), text.npos) << part << text;
  const Json json = profile(with(few, {"--open", "C3", "--zoom", "phase"}));
  EXPECT_FALSE(json.at("open").empty());
  EXPECT_FALSE(json.at("zoom").empty());
  for (const Words& view : {Words{"--memory"}, Words{"--open", "C3"}, Words{"--json"}, Words{}}) {
    const Outcome outcome = run(with(with({"profile"}, few), with(view, {"--zoom", "fase"})));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find("no range has the name 'fase'"), outcome.err.npos) << outcome.err;
  }
}

TEST_F(CliProfile, ARunTooShortSaysSo) {
  const Outcome outcome = succeed({"profile", "lenet5", "--data", "glyphs", "--train-size", "640",
                                   "--test-size", "64", "--batch", "320", "--epochs", "1"});
  EXPECT_NE(outcome.out.find("needs more steps"), outcome.out.npos) << outcome.out;
}

TEST_F(CliProfile, ARunTooShortSaysSoEverywhere) {
  const Words few = {"mlp", "--data", "glyphs", "--train-size", "300", "--test-size", "64", "--epochs", "1"};
  const std::string what = "The run ended before a step could be watched";
  const Json json = profile(with(few, {"--counters", "system"}));
  ASSERT_FALSE(json.at("notes").empty());
  EXPECT_TRUE(json.at("notes").at(0).get<std::string>().starts_with(what)) << json.at("notes");
  const std::string text = succeed(with(with({"profile"}, few), {"--counters", "system"})).out;
  EXPECT_NE(text.find(what), text.npos) << text;
  EXPECT_NE(text.find("no counters: the run ended"), text.npos) << "the other notes are there, too" << text;
  const Outcome trained = succeed(with(with({"train"}, few), {"--profile", "p"}));
  EXPECT_NE(trained.err.find(what), trained.err.npos) << trained.err;
}

TEST_F(CliProfile, SortedLayersStillAddUp) {
  const std::string text =
      succeed(with(with({"profile"}, small_), {"--steps", "3", "--sort", "total ms", "--top", "1"})).out;
  const std::size_t all = text.find("\nall layers "), idle = text.find("\ncopies, host and idle ");
  ASSERT_NE(all, text.npos) << text;
  ASSERT_NE(idle, text.npos) << text;
  EXPECT_LT(all, idle);
  EXPECT_LT(idle, text.find("\nstep ", idle)) << text;
  EXPECT_EQ(text.substr(0, all).back(), '-') << "a rule stands above the sums\n" << text;
}

// A step is whole: means of counts of whole events are multiples of one of the watched steps.
TEST_F(CliProfile, CountersAreMeansOfTheWatchedSteps) {
  const Json json =
      profile(with(small_, {"--steps", "16", "--epochs", "5", "--threads", "1", "--counters", "system"}));
  for (const Json& step : json.at("record").at("measurement").at("steps"))
    for (const char* counter : {"page-faults", "context-switches", "cpu-migrations"}) {
      if (!step.contains("counters") || !step.at("counters").contains(counter)) continue;  // not counted here
      const double events = 16 * step.at("counters").at(counter).get<double>();
      EXPECT_NEAR(events, std::round(events), 1e-6) << counter;
    }
}

// An epoch has far more steps than the profile needs.
TEST_F(CliProfile, ProgressCountsTheStepsOfTheProfile) {
  const Outcome outcome = succeed({"profile", "lenet5", "--data", "glyphs", "--test-size", "64", "--batch",
                                   "2048", "--steps", "9", "--threads", "1"});
  const std::size_t line = outcome.err.find("profiling lenet5");
  if (line == outcome.err.npos) GTEST_SKIP() << "it took less than a second";
  EXPECT_NE(outcome.err.find(" of 17, loss", line), outcome.err.npos) << outcome.err;
}

TEST_F(CliProfile, CountersThatNobodyHasAreRefusedByTheirReason) {
  const std::pair<const char*, const char*> cases[] = {
      {",", "must name sets and counters"}, {"list,seed", "give it alone"}, {"flops", "add --device cuda"}};
  for (const auto& [counters, what] : cases) {
    const Outcome outcome = run(with(with({"profile"}, small_), {"--counters", counters}));
    EXPECT_EQ(outcome.code, 2) << counters;
    EXPECT_NE(outcome.err.find(what), outcome.err.npos) << counters << outcome.err;
  }
  const Outcome chip = run({"profile", "--counters", "list", "--chip", "GA100"});
  EXPECT_EQ(chip.code, 2);
  EXPECT_NE(chip.err.find("add --device cuda"), chip.err.npos) << chip.err;
}

}  // namespace
}  // namespace headroom::testing
