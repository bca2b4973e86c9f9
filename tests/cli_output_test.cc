// The program's output on success: welcome, help, lists, and one JSON object with --json.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "base/json.h"
#include "base/text.h"
#include "data/known_datasets.h"
#include "models/zoo.h"
#include "support/program.h"
#include "train/recipe.h"

namespace headroom::testing {
namespace {

using CliOutput = ProgramTest;

void expect_keys(const Json& json, const Words& keys) {
  for (const std::string& key : keys) {
    const Json* at = &json;
    for (const std::string& part : split(key, '.')) {
      ASSERT_TRUE(at->is_object() && at->contains(part))
          << "no " << key << " in " << json.dump().substr(0, 400);
      at = &at->at(part);
    }
    EXPECT_FALSE(at->is_null()) << key;
  }
}

TEST_F(CliOutput, BareNameSaysWhatItIsAndWhatToTry) {
  const Outcome bare = succeed({});
  for (const char* part : {"headroom demo", "headroom predict", "headroom roofline", "--help"})
    EXPECT_NE(bare.out.find(part), std::string::npos) << part;
  EXPECT_EQ(bare.err, "");
}

TEST_F(CliOutput, VersionTellsWhatWasBuilt) {
  const std::string version = succeed({"--version"}).out;
  for (const char* part : {"headroom ", "commit", "compiler", "BLAS", "threads"})
    EXPECT_NE(version.find(part), std::string::npos) << version;
}

TEST_F(CliOutput, EveryVerbHasHelpWithAnExample) {
  const std::string all = succeed({"--help"}).out;
  const std::vector<Words> verbs = {{"demo"},
                                    {"train"},
                                    {"eval"},
                                    {"tta"},
                                    {"sweep"},
                                    {"predict"},
                                    {"roofline"},
                                    {"machine"},
                                    {"machine", "list"},
                                    {"machine", "show"},
                                    {"model"},
                                    {"model", "list"},
                                    {"recipe"},
                                    {"recipe", "list"},
                                    {"data"},
                                    {"data", "list"},
                                    {"data", "fetch"},
                                    {"data", "make"},
                                    {"doctor"}};
  for (Words words : verbs) {
    EXPECT_NE(all.find(words[0]), std::string::npos) << words[0];
    words.push_back("--help");
    const Outcome help = succeed(words);
    EXPECT_NE(help.out.find("Example:\n  headroom " + words[0]), std::string::npos) << help.out;
  }
}

// Only the first rank runs a verb that uses no ranks; the others print nothing.
TEST_F(CliOutput, OfSeveralRanksTheFirstAloneRunsAVerbWithoutRanks) {
  auto as_rank = [&](const char* rank, const Words& words) {
    return run(words, {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", rank}});
  };
  const std::vector<Words> requests = {{}, {"--help"}, {"--version"}, {"train", "--help"}, {"model", "list"}};
  for (const Words& words : requests) {
    EXPECT_NE(as_rank("0", words).out, "");
    const Outcome other = as_rank("1", words);
    EXPECT_EQ(other.out + other.err, "");
    EXPECT_EQ(other.code, 0);
  }
  EXPECT_EQ(as_rank("1", {"data", "make", "glyphs", "digits"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(file("digits")));
  const Outcome wrong = as_rank("1", {"model", "lost"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.out + wrong.err, "");
}

TEST_F(CliOutput, ListsAreComplete) {
  const std::string models = succeed({"model", "list"}).out, recipes = succeed({"recipe", "list"}).out;
  for (const ZooEntry& entry : zoo()) EXPECT_NE(models.find(entry.name), std::string::npos);
  for (const std::string& name : recipe_names()) EXPECT_NE(recipes.find(name), std::string::npos) << name;
  EXPECT_GE(recipe_names().size(), 20u);
  const std::string data = succeed({"data", "list"}).out, machines = succeed({"machine", "list"}).out;
  for (const char* name : {"mnist", "fashion-mnist", "cifar10", "glyphs", "images", "idx", "text"})
    EXPECT_NE(data.find(name), std::string::npos);
  for (const char* name : {"h200", "k80", "here"}) EXPECT_NE(machines.find(name), std::string::npos);
}

TEST_F(CliOutput, JsonOfListsIsOneObject) {
  EXPECT_EQ(succeed_json({"model", "list"}).at("models").size(), zoo().size());
  EXPECT_EQ(succeed_json({"recipe", "list"}).at("recipes").size(), recipe_names().size());
  EXPECT_EQ(succeed_json({"data", "list"}).at("data_sets").size(), 8u);
  EXPECT_GE(succeed_json({"machine", "list"}).at("machines").size(), 5u);
  expect_keys(succeed_json({"machine", "show", "h200"}), {"name", "peak_flops", "levels"});
}

TEST_F(CliOutput, JsonOfTrainHasTheAgreedKeys) {
  const Json json =
      succeed_json({"train", "mlp:hidden=8", "--train-size", "256", "--test-size", "64", "--epochs", "2"});
  expect_keys(json, {"accuracy.test", "accuracy.train", "loss", "first_loss", "epochs", "step_ms.median",
                     "step_ms.p10", "step_ms.p90", "step_ms.samples", "images_per_s", "device", "threads",
                     "peak_rss_bytes"});
  ASSERT_EQ(json.at("epochs").size(), 2u);
  expect_keys(json.at("epochs")[1], {"epoch", "loss", "accuracy.train", "accuracy.test", "seconds"});
  EXPECT_GT(json.at("step_ms").at("samples"), 0);
  EXPECT_LE(json.at("step_ms").at("p10"), json.at("step_ms").at("median"));
  EXPECT_LE(json.at("step_ms").at("median"), json.at("step_ms").at("p90"));
  EXPECT_GT(json.at("images_per_s"), 0);
  EXPECT_GT(json.at("peak_rss_bytes"), 1'000'000);
}

TEST_F(CliOutput, JsonOfEvalPredictAndRooflineIsOneObject) {
  succeed({"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32", "--save", "w"});
  expect_keys(succeed_json({"eval", "mlp:hidden=8", "--weights", "w", "--test-size", "64"}),
              {"model", "accuracy.test", "loss", "images", "images_per_s"});
  const Json predicted = succeed_json({"predict", "lenet5", "--machine", "h200,here", "--batch", "1,64"});
  EXPECT_EQ(predicted.at("predictions").size(), 4u);
  expect_keys(predicted.at("predictions")[0], {"batch", "machine", "floor_ms", "layers"});
  expect_keys(succeed_json({"roofline", "--seconds", "0.1"}), {"name", "title", "peak_flops", "levels"});
}

TEST_F(CliOutput, RecordHoldsTheWholeRun) {
  succeed({"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32", "--batch", "16", "--record",
           "r.json"});
  const Json record = Json::parse(read_file(file("r.json")));
  expect_keys(record, {"machine.title", "model.net", "plan.steps", "prediction.floor_ms",
                       "measurement.step_ms", "curve", "command", "commit"});
  EXPECT_EQ(record.at("command").at(1), "train");
  EXPECT_EQ(record.at("curve").size(), record.at("curve").back().at("epoch").get<std::size_t>());
  // The machine is the one this test made up: a run does not measure a known machine again.
  EXPECT_EQ(record.at("machine").at("peak_flops").at("fp32"), 2e11);
}

TEST_F(CliOutput, NamesThatAreNotUtf8LoseNoRun) {
  const Words words = {"train",       "mlp:hidden=8", "--train-size", "64",
                       "--test-size", "32",           "--record",     "r\xff.json"};
  succeed_json(words);
  EXPECT_TRUE(Json::parse(read_file(file("r\xff.json")), nullptr, false).is_object());
}

TEST_F(CliOutput, EveryRecipeNamesAModelAndData) {
  for (const std::string& name : recipe_names()) {
    const Recipe recipe = find_recipe(name);
    EXPECT_FALSE(recipe.title.empty()) << name;
    EXPECT_GT(recipe.batch, 0) << name;
    EXPECT_GT(recipe.epochs, 0) << name;
    EXPECT_GT(recipe.lr, 0) << name;
    Net net = find_net(recipe.model);
    apply_initial(recipe, net);
    bool known = false;
    for (const DatasetInfo& info : known_datasets()) known |= info.name == recipe.data;
    EXPECT_TRUE(known) << name << ": " << recipe.data;
  }
}

TEST_F(CliOutput, AClosedPipeEndsItQuietly) {
  const Outcome outcome = run_shell("\"$0\" machine list | head -1");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1) << outcome.out;
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CliOutput, AFullDiskIsReported) {
  const Outcome outcome = run_shell("\"$0\" machine list > /dev/full");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("cannot write to standard output"), std::string::npos) << outcome.err;
}

TEST_F(CliOutput, AnInterruptSavesWhatWasAskedForAndNothingHalfWritten) {
  const pid_t child = start({"train", "mlp:hidden=8", "--train-size", "64", "--test-size", "32", "--epochs",
                             "1000000", "--log-every", "1", "--save", "w", "--record", "r"});
  for (int i = 0; i < 1000 && read_file(err_).find("step ") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ::kill(child, SIGINT);
  const Outcome outcome = finish(child);
  EXPECT_EQ(outcome.code, 128 + SIGINT);
  EXPECT_NE(outcome.out.find("interrupted after step "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.err.find("SIGINT"), std::string::npos) << outcome.err;
  EXPECT_EQ(files(), (std::set<std::string>{"r", "w"}));
  EXPECT_EQ(Json::parse(read_file(file("r"))).at("interrupted"), true);
  succeed({"eval", "mlp:hidden=8", "--weights", "w", "--test-size", "32"});
}

// Best of a few runs: another program may use the core.
struct TimingCli : ProgramTest {
  double best_seconds(const Words& args) const {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const auto start = std::chrono::steady_clock::now();
      succeed(args);
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  }
};

TEST_F(TimingCli, ModelListTakesLessThan50Milliseconds) { EXPECT_LT(best_seconds({"model", "list"}), 0.050); }

TEST_F(TimingCli, FivePredictionsTakeLessThan100Milliseconds) {
  EXPECT_LT(best_seconds({"predict", "lenet5", "--machine", "h200,h100,a100,v100,k80"}), 0.100);
}

// Over forty machines share passes and plans; one by one they would take over fifteen times as long as one.
TEST_F(TimingCli, EveryMachineOfTheTableTakesAsLongAsAFew) {
  const double one = best_seconds({"predict", "resnet:depth=50", "--machine", "h200"});
  EXPECT_LT(best_seconds({"predict", "resnet:depth=50", "--machine", "all"}), 8 * one);
}

// A time for a step that cannot run would be wrong, however fast.
TEST_F(CliOutput, PredictSaysWhatDoesNotFit) {
  const Words words = {"predict", "resnet:depth=152", "--batch", "4096", "--machine", "k40"};
  const Outcome outcome = succeed(words);
  for (const char* part : {"Does not fit", "k40 has 12", "The largest batch that fits is "})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
  const Json json = succeed_json(words)["predictions"][0];
  EXPECT_EQ(json["fits"], false);
  EXPECT_GT(json["memory_bytes"].get<double>(), 100e9);
  EXPECT_GT(json["largest_batch"].get<int>(), 4);
  for (const char* time : {"floor_ms", "predicted_ms", "low_ms", "high_ms"})
    EXPECT_TRUE(json.at(time).is_null()) << time;
  for (const char* key : {"basis", "parts", "layers", "steps"}) EXPECT_FALSE(json.contains(key)) << key;
  EXPECT_EQ(succeed_json({"predict", "lenet5", "--machine", "k40"})["predictions"][0]["fits"], true);
}

}  // namespace
}  // namespace headroom::testing
