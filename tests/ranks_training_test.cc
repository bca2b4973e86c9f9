// Training on several ranks through the program: the weights of one rank up to rounding, for every way to
// split the work, even unevenly, and the bytes that the plan says.
#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "data/safetensors.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

using Values = std::map<std::string, std::vector<double>>;

Values read_values(const std::filesystem::path& path) {
  Values all;
  for (const NamedTensor& t : read_safetensors(path).tensors)
    dispatch_float(t.type.dtype, [&]<class T>() {
      const T* from = reinterpret_cast<const T*>(t.bytes.data());
      all[t.name].assign(from, from + t.type.shape.numel());
    });
  return all;
}

// The max difference of any tensor, relative to that tensor's largest element.
double distance(const Values& x, const Values& y) {
  EXPECT_EQ(x.size(), y.size());
  double worst = 0;
  for (const auto& [name, left] : x) {
    const auto it = y.find(name);
    if (it == y.end() || it->second.size() != left.size()) return ADD_FAILURE() << name << " differs", 1;
    double largest = 0, difference = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      largest = std::max(largest, std::abs(left[i]));
      difference = std::max(difference, std::abs(left[i] - it->second[i]));
    }
    worst = std::max(worst, difference / std::max(largest, 1e-30));
  }
  return worst;
}

struct RanksTraining : RanksProgramTest {
  Json train(int ranks, const Words& more) const {
    const Words words = with({HEADROOM_PROGRAM, "train"}, with(more, {"--threads", "1", "--json"}));
    const Outcome outcome =
        ranks == 1 ? finish(start_any(words, {})) : run_in_ranks(ranks, words, folder(), environment());
    EXPECT_EQ(outcome.code, 0) << fmt::format("{} ranks: {}\n{}", ranks, fmt::join(more, " "), outcome.err);
    Json json = Json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(json.is_object()) << "one object by one rank, not\n" << outcome.out;
    return json.is_object() ? json : Json::object();
  }
  Values weights(int ranks, const Words& more, Json* json = nullptr) const {
    const Json said = train(ranks, with(more, {"--save", "w.safetensors"}));
    if (json != nullptr) *json = said;
    Values values = read_values(file("w.safetensors"));
    std::filesystem::remove(file("w.safetensors"));
    return values;
  }

  struct Way {
    int ranks;
    Words options;
  };
  // Weights, losses and accuracy must equal those of one rank, for each way to split the work.
  void expect_alike(const Words& words, const std::vector<Way>& ways, double bound) const {
    Json one;
    const Values alone = weights(1, words, &one);
    for (const Way& way : ways) {
      SCOPED_TRACE(
          fmt::format("{} ranks: {} {}", way.ranks, fmt::join(words, " "), fmt::join(way.options, " ")));
      Json json;
      const double error = distance(alone, weights(way.ranks, with(words, way.options), &json));
      EXPECT_LT(error, bound);
      fmt::print("{:9.2e} relative weight error, {} ranks: {} {}\n", error, way.ranks, fmt::join(words, " "),
                 fmt::join(way.options, " "));
      ASSERT_TRUE(json.contains("ranks"));
      EXPECT_NEAR(json["first_loss"], one["first_loss"], bound * 10);
      EXPECT_NEAR(json["loss"], one["loss"], bound * 10);
      EXPECT_EQ(json["steps"], one["steps"]);
      EXPECT_NEAR(json["accuracy"]["train"], one["accuracy"]["train"], 0.004);
      EXPECT_NEAR(json["accuracy"]["test"], one["accuracy"]["test"], 0.011);
      expect_report(json["ranks"], way.ranks);
    }
  }
  static void expect_report(const Json& ranks, int count) {
    EXPECT_EQ(ranks["count"], count);
    EXPECT_EQ(ranks["each"].size(), static_cast<std::size_t>(count));
    EXPECT_EQ(ranks["data_parts"].get<int>() * ranks["model_parts"].get<int>(), count);
    EXPECT_GT(ranks["planned_bytes"], 0);
    EXPECT_EQ(ranks["planned_bytes"], ranks["counted_bytes"]) << ranks.dump(2);
    double slowest = 0;
    for (const Json& each : ranks["each"]) {
      EXPECT_GT(each["step_ms"], 0);
      EXPECT_GT(each["compute_ms"], 0);
      slowest += each["slowest_share"].get<double>();
    }
    EXPECT_NEAR(slowest, 1, 1e-9);
  }

  // 7 steps per epoch for any network; the last one has 20 images.
  static Words small(const std::string& model, const Words& more = {}) {
    return with(
        {model, "--train-size", "320", "--test-size", "100", "--batch", "50", "--seed", "3", "--epochs", "1"},
        more);
  }
  static Words wide(const std::string& model, const Words& more = {}) {
    return small(model, with({"--precision", "fp64"}, more));
  }
  static constexpr double kWide = 1e-13, kSingle = 3e-6;
  const Way two_{2, {}}, three_{3, {}}, four_{4, {}};
};

TEST_F(RanksTraining, SharedBatchesGiveTheWeightsOfOneRank) {
  expect_alike(wide("mlp:hidden=37"), {two_, three_, four_}, kWide);
  expect_alike(small("mlp:hidden=37"), {two_, three_}, kSingle);
}

TEST_F(RanksTraining, SharedLayersGiveTheWeightsOfOneRank) {
  const Way two{2, {"--parallel", "model"}}, three{3, {"--parallel", "model"}};
  expect_alike(wide("mlp:hidden=37"), {two, three}, kWide);
  expect_alike(small("mlp:hidden=37"), {two}, kSingle);
}

TEST_F(RanksTraining, BothAtOnceGiveTheWeightsOfOneRank) {
  const Way both{4, {"--parallel", "hybrid:2x2"}};
  expect_alike(wide("mlp:hidden=37", {"--momentum", "0.9"}), {both}, kWide);
  expect_alike(small("mlp:hidden=37"), {both}, kSingle);
  // A hybrid with all ranks in one dimension equals the plain form.
  expect_alike(wide("mlp:hidden=37"), {{2, {"--parallel", "hybrid:1x2"}}, {2, {"--parallel", "hybrid:2x1"}}},
               kWide);
}

// A gradient large enough to be exchanged in bands, with either kernel.
TEST_F(RanksTraining, ProductsInBandsGiveTheWeightsOfOneRank) {
  const Words words = wide("mlp:hidden=400", {"--l2", "0.01"});
  expect_alike(words, {two_}, kWide);
  const Values bands = weights(2, words),
               by_hand = weights(2, with(words, {"--kernel", "matmul_reduce=reference"}));
  EXPECT_LT(distance(bands, by_hand), kWide);
}

// Training and testing must split the same layers, although testing has no dropout.
TEST_F(RanksTraining, DropoutBetweenLayersThatAreCut) {
  write_file(file("dropped.json"), R"({"name": "dropped", "input": [784], "layers": [
      {"type": "linear", "name": "a", "units": 40}, {"type": "dropout", "name": "d", "rate": 0.5},
      {"type": "linear", "name": "b", "units": 30}, {"type": "relu", "name": "r"},
      {"type": "linear", "name": "c", "units": 30}, {"type": "linear", "name": "e", "units": 10}]})");
  for (const char* how : {"model", "hybrid:1x2"}) {
    const Json json = train(2, small("dropped.json", {"--parallel", how}));
    EXPECT_LT(json.at("loss"), 2.4);
  }
}

TEST_F(RanksTraining, ALastBatchMayLeaveRanksWithoutImages) {
  const Words one_left = {"mlp:hidden=37", "--train-size", "301",      "--test-size", "61",
                          "--batch",       "100",          "--epochs", "2",           "--precision",
                          "fp64",          "--momentum",   "0.9"};
  expect_alike(one_left, {two_, four_, {4, {"--parallel", "hybrid:2x2"}}, {3, {"--shard-optimizer"}}}, kWide);
}

TEST_F(RanksTraining, ConvolutionsShareBatchesToo) {
  expect_alike(wide("lenet5"), {two_, {2, {"--parallel", "model"}}}, kWide);
}

// Gradients from 1 MiB on are exchanged in bands while the next one is computed, or scattered.
TEST_F(RanksTraining, LargeLayersAreExchangedInBands) {
  const Words large = wide("mlp:hidden=512", {"--momentum", "0.9"});
  expect_alike(large, {two_, three_, {2, {"--shard-optimizer"}}, {3, {"--shard-optimizer"}}}, kWide);
}

TEST_F(RanksTraining, OptimizersAndPenaltiesAreThoseOfTheWholeBatch) {
  expect_alike(wide("mlp:hidden=37", {"--optimizer", "adam", "--l2", "0.01"}),
               {two_, {3, {"--shard-optimizer"}}, {2, {"--parallel", "model"}}}, 1e-12);
  expect_alike(wide("mlp:hidden=37", {"--momentum", "0.9", "--nesterov", "--l2", "0.01"}),
               {two_, {2, {"--shard-optimizer"}}, {4, {"--parallel", "hybrid:2x2"}}}, kWide);
}

TEST_F(RanksTraining, DropoutDrawsWhatOneRankDraws) {
  put("dropping.json", R"({"name": "dropping", "input": [1, 28, 28], "layers": [
      {"type": "dropout", "rate": 0.2}, {"type": "linear", "units": 37, "activation": "relu"},
      {"type": "dropout", "rate": 0.3}, {"type": "linear", "units": 10}]})");
  const Words dropping = wide("dropping.json");
  expect_alike(dropping, {two_, three_}, kWide);
}

TEST_F(RanksTraining, NormsOverTheWholeBatch) {
  const std::string head = R"({"name": "normed", "input": [1, 28, 28], "layers": [
      {"type": "conv2d", "maps": 4, "kernel": 5, "bias": false}, {"type": "batch_norm"}, {"type": "relu"},
      {"type": "max_pool", "kernel": 2}, )";
  const std::string tail = R"({"type": "relu"}, {"type": "linear", "units": 10}]})";
  put("normed.json",
      head + R"({"type": "linear", "units": 20, "bias": false}, {"type": "batch_norm"}, )" + tail);
  put("maps.json", head + tail);
  // A mean and a variance are summed in another order, then roots are taken: one more digit is lost.
  expect_alike(wide("normed.json"), {{2, {"--sync-bn"}}, {3, {"--sync-bn"}}}, 1e-11);
  const Words one_left = {"maps.json", "--train-size", "301", "--test-size", "61",  "--batch",
                          "100",       "--epochs",     "1",   "--precision", "fp64"};
  expect_alike(one_left, {{4, {"--sync-bn"}}}, 1e-11);
  // With statistics of each rank's own part of a batch it is another network, and trains as well.
  const double apart = distance(weights(1, wide("normed.json")), weights(2, wide("normed.json")));
  EXPECT_GT(apart, 1e-6);
}

TEST_F(RanksTraining, TheFirstMayReadForAll) {
  expect_alike(wide("mlp:hidden=37"), {{3, {"--shard", "scatter"}}}, kWide);
}

TEST_F(RanksTraining, TheSameRunGivesTheSameBits) {
  for (const Words& how : {Words{}, {"--parallel", "model"}, {"--shard-optimizer"}})
    EXPECT_EQ(distance(weights(2, small("mlp:hidden=37", how)), weights(2, small("mlp:hidden=37", how))), 0);
}

TEST_F(RanksTraining, SharedOptimizerStateIsKeptOnce) {
  const Json whole = train(2, small("mlp:hidden=512", {"--optimizer", "adam"})),
             shared = train(2, small("mlp:hidden=512", {"--optimizer", "adam", "--shard-optimizer"}));
  EXPECT_EQ(whole["ranks"]["optimizer_bytes_saved"], 0);
  // Two numbers per weight, half of them on the other rank; biases are too small to be split.
  EXPECT_EQ(shared["ranks"]["optimizer_bytes_saved"], (784 * 512 + 512 * 10) / 2 * 2 * 4);
  // Scattering and gathering together move as much as a sum; the second layer is too small for that and is
  // gathered in addition.
  EXPECT_EQ(shared["ranks"]["planned"][0]["two_way_bytes"].get<int>() -
                whole["ranks"]["planned"][0]["two_way_bytes"].get<int>(),
            512 * 10 * 4);
  for (int rank : {0, 1})
    EXPECT_EQ(whole["ranks"]["each"][rank]["stored_bytes"].get<double>() -
                  shared["ranks"]["each"][rank]["stored_bytes"].get<double>(),
              (784 * 512 + 512 * 10) * 4);
}

TEST_F(RanksTraining, ARecordHoldsAllRanks) {
  train(3, small("mlp:hidden=37", {"--record", "r.json"}));
  const Json record = Json::parse(read_file(file("r.json")));
  EXPECT_EQ(record.at("ranks").at("each").size(), 3u);
  EXPECT_EQ(record.at("ranks").at("transport"), "mpi");
}

TEST_F(RanksTraining, OneRankAloneSaysNothingOfRanks) {
  EXPECT_FALSE(train(1, small("mlp:hidden=37")).contains("ranks"));
  EXPECT_FALSE(train(1, small("mlp:hidden=37", {"--parallel", "data"})).contains("ranks"));
}

// The course's network: published accuracy, and bytes by the closed forms.
struct RanksCourse : RanksTraining {
  void SetUp() override {
    RanksTraining::SetUp();
    const char* named = std::getenv("HEADROOM_DATA");
    data_ = named != nullptr ? named : std::filesystem::path(HEADROOM_SOURCE_DIR) / "../shared/data";
    if (!std::filesystem::is_directory(data_ / "mnist")) GTEST_SKIP() << "no mnist in " << data_;
  }
  Words course(const Words& more) const {
    return with({"--recipe", "perceptron-nsys1", "--data-dir", data_.string()}, more);
  }
  std::filesystem::path data_;
};

TEST_F(RanksCourse, PublishedAccuracyOnEveryNumberOfRanks) {
  for (const auto& [ranks, how] : {std::pair(2, "data"), {3, "data"}, {4, "data"}, {2, "model"}}) {
    const Json json = train(ranks, course({"--precision", "fp64", "--parallel", how}));
    EXPECT_EQ(fmt::format("{:.4f}", json["accuracy"]["test"].get<double>()), "0.7279") << ranks << " " << how;
  }
}

// H = 512, D = 784, C = 10, batches of B = 3000, and 2 b bytes for a sum of b: 2 (HD + H + CH + C) 4 if
// batches are split, 2 C B 4 if layers are.
TEST_F(RanksCourse, BytesAreThoseOfTheClosedForms) {
  const Json data = train(2, course({}))["ranks"], model = train(2, course({"--parallel", "model"}))["ranks"];
  ASSERT_EQ(data["planned"].size(), 1u);
  EXPECT_EQ(data["planned"][0]["two_way_bytes"], 3'256'400);
  ASSERT_EQ(model["planned"].size(), 1u);
  EXPECT_EQ(model["planned"][0]["two_way_bytes"], 240'000);
  for (const Json& ranks : {data, model}) EXPECT_EQ(ranks["planned_bytes"], ranks["counted_bytes"]);
}

}  // namespace
}  // namespace headroom::testing
