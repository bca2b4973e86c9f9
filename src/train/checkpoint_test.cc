#include "train/checkpoint.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "base/testing/bad_input.h"
#include "data/glyphs.h"
#include "data/safetensors.h"

namespace headroom {
namespace {

using testing::expect_rejected;
using testing::TemporaryFolder;

const Dataset& glyphs() {
  static const Dataset data = make_glyphs({.train = 96, .test = 20});
  return data;
}

struct Checkpoint : ::testing::Test {
  Engine make(std::uint64_t seed = 1, const char* model = "mlp:hidden=4") {
    Engine engine(find_net(model), *device_, {.seed = seed, .update = {.kind = "adam"}});
    engine.ready(Mode::train, 16);
    return engine;
  }
  static TrainOptions options() {
    TrainOptions o;
    o.batch = 16, o.epochs = 2, o.lr = 0.01;
    return o;
  }
  RunIdentity identity(const Engine& engine) const { return identity_of(engine, glyphs(), options()); }

  // Everything a checkpoint must restore, by name.
  static std::map<std::string, std::string> tensors(const Engine& engine) {
    std::map<std::string, std::string> all;
    for (Role role : {Role::parameter, Role::state})
      for (const std::string& name : engine.storage().names(role)) {
        std::string bytes(static_cast<std::size_t>(engine.storage().type(name).bytes()), '\0');
        engine.storage().read(name, bytes.data(), bytes.size());
        all[name] = bytes;
      }
    return all;
  }

  TrainResult run(Engine& engine, TrainOptions o) const {
    TrainObserver nobody;
    return train(engine, glyphs(), o, nobody);
  }

  std::unique_ptr<Device> device_ = open_device("cpu", 2);
  TemporaryFolder folder_;
  const std::filesystem::path path_ = folder_.path() / "one.safetensors";
  const RunState state_{.steps = 5,
                        .epoch = 0,
                        .batch = 5,
                        .first_loss = 1.0 / 3,
                        .last_loss = 0.1,
                        .tally = {1e-300, 7, 80},
                        .epochs = {{1, 0.7, 0.5, 0.25, 0.125, 3}}};
};

TEST_F(Checkpoint, BringsEveryTensorAndNumberBack) {
  Engine engine = make();
  run(engine, options());  // makes optimizer state nonzero
  write_checkpoint(path_, engine, state_, identity(engine));
  Engine fresh = make(1);
  EXPECT_NE(tensors(fresh), tensors(engine));
  const RunState back = read_checkpoint(path_, fresh, identity(fresh));
  EXPECT_EQ(tensors(fresh), tensors(engine));
  EXPECT_EQ(to_json(back), to_json(state_));
  EXPECT_EQ(back.first_loss, 1.0 / 3) << "to the bit";
}

TEST_F(Checkpoint, ARunInTwoPartsIsTheRun) {
  Engine whole = make(), parts = make();
  const TrainResult at_once = run(whole, options());
  TrainOptions first = options();
  first.stop = [n = 0]() mutable { return ++n == 7; };  // in the second epoch of six steps
  const TrainResult half = run(parts, first);
  EXPECT_TRUE(half.stopped);
  write_checkpoint(path_, parts, half.state, identity(parts));
  Engine again = make();
  TrainOptions second = options();
  second.start = read_checkpoint(path_, again, identity(again));
  const TrainResult rest = run(again, second);
  EXPECT_EQ(tensors(again), tensors(whole));
  EXPECT_EQ(rest.state.steps, at_once.state.steps);
  ASSERT_EQ(rest.state.epochs.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(rest.state.epochs[i].loss, at_once.state.epochs[i].loss);
    EXPECT_EQ(rest.state.epochs[i].train_accuracy, at_once.state.epochs[i].train_accuracy);
    EXPECT_EQ(rest.state.epochs[i].test_loss, at_once.state.epochs[i].test_loss);
  }
}

TEST_F(Checkpoint, IdentityNamesAllThatDiffers) {
  Engine engine = make();
  write_checkpoint(path_, engine, state_, identity(engine));
  const auto before = tensors(engine);
  auto expect_refused = [&](const std::string& what, const std::string& value) {
    RunIdentity other = identity(engine);
    ASSERT_TRUE(other.count(what)) << what;
    other[what] = value;
    expect_rejected([&] { read_checkpoint(path_, engine, other); }, {"one.safetensors", what, value});
  };
  for (const char* what : {"data", "number of training images", "batch", "seed", "precision", "optimizer",
                           "learning rate", "schedule", "shuffling", "augmentation", "pixels"})
    expect_refused(what, "another");
  RunIdentity other = identity(engine);
  other["model"] = std::string(500, 'x');
  expect_rejected([&] { read_checkpoint(path_, engine, other); }, {"its model differs"});
  other["seed"] = "77", other["batch"] = "3";
  expect_rejected([&] { read_checkpoint(path_, engine, other); },
                  {"its batch is 16, not 3; its model differs; its seed is 0, not 77"});
  EXPECT_EQ(tensors(engine), before);
}

// If the rate falls over all epochs, their number is part of the run; with a constant rate it is not.
TEST_F(Checkpoint, MoreEpochsAreAnotherRunOnlyWhereTheRateKnowsThem) {
  const Engine engine = make();
  auto of = [&](const char* schedule, std::int64_t epochs) {
    TrainOptions o = options();
    o.schedule = parse_schedule(schedule), o.epochs = epochs;
    return identity_of(engine, glyphs(), o);
  };
  EXPECT_EQ(of("constant", 2), of("constant", 9));
  EXPECT_EQ(of("step:every=2", 2), of("step:every=2", 9));
  EXPECT_NE(of("cosine", 2), of("cosine", 9));
  EXPECT_NE(of("polynomial", 2), of("polynomial", 9));
}

TEST_F(Checkpoint, TensorsMustBeThoseOfTheRun) {
  Engine small = make(), large = make(1, "mlp:hidden=5");
  write_checkpoint(path_, small, state_, identity(large));
  const auto before = tensors(large);
  expect_rejected([&] { read_checkpoint(path_, large, identity(large)); }, {"hidden", "4"});
  EXPECT_EQ(tensors(large), before) << "nothing is changed";
  Engine plain(find_net("mlp:hidden=4"), *device_, {});
  plain.ready(Mode::train, 16);
  write_checkpoint(path_, plain, state_, identity(small));
  expect_rejected([&] { read_checkpoint(path_, small, identity(small)); }, {"4 tensors", "needs 12"});
}

TEST_F(Checkpoint, AlteredBytesAreSeen) {
  Engine engine = make(1, "mlp:hidden=1,input=3,classes=2");
  write_checkpoint(path_, engine, state_, identity(engine));
  const std::string whole = read_file(path_);
  const auto before = tensors(engine);
  const RunIdentity same = identity(engine);
  constexpr std::size_t kStride = 17;  // every byte was tried once
  for (std::size_t at = 0; at < whole.size(); at += kStride) {
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 0x15);
    folder_.put("one.safetensors", altered);
    try {
      read_checkpoint(path_, engine, same);
      ADD_FAILURE() << "byte " << at << " '" << whole[at] << "' was altered unseen";
    } catch (const Error& error) {
      EXPECT_EQ(error.blame(), Blame::request) << "byte " << at << ": " << error.what();
    }
  }
  EXPECT_EQ(tensors(engine), before);
}

TEST_F(Checkpoint, TheFolderKeepsTheNewestAndPassesOverTheDamaged) {
  Engine engine = make();
  CheckpointFolder folder(folder_.path() / "deep" / "er", 2);
  RunState state = state_;
  for (std::int64_t steps : {9, 10, 100}) {
    state.steps = steps;
    folder.write(engine, state, identity(engine));
  }
  std::vector<std::string> warnings;
  auto warn = [&](const std::string& what) { warnings.push_back(what); };
  EXPECT_EQ(folder.resume(engine, identity(engine), warn)->steps, 100) << "by number, not by spelling";
  EXPECT_TRUE(warnings.empty());
  folder_.put("deep/er/step-000000000100.safetensors", "short");
  EXPECT_EQ(folder.resume(engine, identity(engine), warn)->steps, 10);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("step-000000000100"), std::string::npos) << warnings[0];
  folder_.put("deep/er/step-000000000010.safetensors", "short");
  EXPECT_FALSE(folder.resume(engine, identity(engine), warn).has_value()) << "9 was one too many";
}

}  // namespace
}  // namespace headroom
