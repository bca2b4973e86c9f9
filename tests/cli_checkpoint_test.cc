// Checkpoints through the program: a killed and resumed run equals the uninterrupted run byte for byte.
// Damaged files, and files of another run, are named in the error.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <random>
#include <thread>

#include "base/json.h"
#include "data/safetensors.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct CliCheckpoint : ProgramTest {
  // 30 steps per epoch. Small networks for quick tests, larger ones for runs to be interrupted.
  static Words train(const std::string& model, const Words& more = {}) {
    return with({"train", model, "--train-size", "600", "--test-size", "50", "--batch", "20", "--seed", "3"},
                more);
  }
  static Words small(const Words& more = {}) { return train("mlp:hidden=8", with({"--epochs", "2"}, more)); }
  static Words checkpoints(const std::string& name) {
    return {"--checkpoint-dir", name, "--checkpoint-every", "7", "--save", name + ".st"};
  }

  std::vector<std::filesystem::path> in_folder(const std::string& name) const {  // newest first
    std::vector<std::filesystem::path> list;
    if (std::filesystem::exists(file(name)))
      for (const auto& entry : std::filesystem::directory_iterator(file(name)))
        if (entry.path().extension() == ".safetensors") list.push_back(entry.path());
    std::ranges::sort(list, std::greater<>());
    return list;
  }
  static int step_of(const std::filesystem::path& path) {
    return std::stoi(path.filename().string().substr(5));
  }
  int newest_step(const std::string& name) const {
    const auto list = in_folder(name);
    return list.empty() ? 0 : step_of(list[0]);
  }

  // Waits until the folder holds a checkpoint of this step or a later one, or the run has ended.
  void wait_for_step(const std::string& name, int step, pid_t child) const {
    siginfo_t ended{};
    while (newest_step(name) < step && ended.si_pid == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    }
  }

  void expect_the_same_after_kills(const Words& words, std::uint32_t seed) const {
    succeed(with(words, checkpoints("a")));
    const int steps = newest_step("a");
    std::mt19937 random(seed);
    int killed = 0, resumed = 0;
    constexpr int kKills = 5;
    const Words again = with(with(words, checkpoints("b")), {"--resume", "auto"});
    for (int i = 0; i < kKills; ++i) {
      const pid_t child = start(again);
      const int span = steps / (kKills + 1);
      wait_for_step("b", i * span + static_cast<int>(random() % static_cast<unsigned>(span)), child);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 4000));
      ::kill(child, SIGKILL);
      const Outcome outcome = finish(child);
      killed += outcome.code == 128 + SIGKILL;
      resumed += outcome.err.find("resuming after step ") != std::string::npos;
    }
    succeed(again);
    EXPECT_GE(killed, 3) << "too fast to be killed";
    EXPECT_GE(resumed, 2) << "killed before anything was saved";
    EXPECT_TRUE(read_file(file("a.st")) == read_file(file("b.st")))
        << "other weights after " << killed << " kills";
    for (const std::string& name : files()) EXPECT_FALSE(name.ends_with(".part")) << name;
  }

  void expect_passed_over(const std::string& damage) const {
    const auto newest = in_folder("c").at(0), before = in_folder("c").at(1);
    const std::string expected = read_file(file("c.st"));
    const TensorFile whole = read_safetensors(newest);
    put(std::filesystem::relative(newest, folder()).string(), damage);
    const Outcome outcome = succeed(with(small(checkpoints("c")), {"--resume", "auto"}));
    for (const std::string& part : {newest.filename().string(), std::string("damaged"),
                                    fmt::format("resuming after step {}", step_of(before))})
      EXPECT_NE(outcome.err.find(part), std::string::npos) << "no '" << part << "' in\n" << outcome.err;
    EXPECT_TRUE(read_file(file("c.st")) == expected);
    const TensorFile again = read_safetensors(newest);  // its header holds times, which differ
    ASSERT_EQ(again.tensors.size(), whole.tensors.size());
    for (std::size_t i = 0; i < whole.tensors.size(); ++i)
      EXPECT_EQ(again.tensors[i].bytes, whole.tensors[i].bytes) << "written again, whole";
  }
};

TEST_F(CliCheckpoint, FiveKillsChangeNothing) {
  expect_the_same_after_kills(train("lenet5", {"--epochs", "5", "--momentum", "0.9"}), 1);
}

TEST_F(CliCheckpoint, FiveKillsChangeNothingWithStatisticsAndRandomNumbers) {
  put("net.json", R"({"name": "norm", "input": [1, 28, 28], "layers": [
      {"type": "conv2d", "name": "c1", "maps": 8, "kernel": 5, "bias": false},
      {"type": "batch_norm", "name": "n1", "activation": "relu"},
      {"type": "max_pool", "name": "p1", "kernel": 2},
      {"type": "conv2d", "name": "c2", "maps": 16, "kernel": 5},
      {"type": "batch_norm", "name": "n2", "activation": "relu"},
      {"type": "dropout", "name": "d", "rate": 0.3},
      {"type": "linear", "name": "out", "units": 10}]})");
  expect_the_same_after_kills(
      train("net.json", {"--epochs", "5", "--optimizer", "adam", "--schedule", "cosine:min=0.0001",
                         "--warmup", "1", "--augment", "crop,flip", "--loader-threads", "2"}),
      2);
}

TEST_F(CliCheckpoint, SignalsLeaveAWholeCheckpoint) {
  const Words words = train("lenet5", {"--epochs", "3"});
  succeed(with(words, checkpoints("a")));
  for (const auto& [signal, name] : {std::pair(SIGTERM, "SIGTERM"), std::pair(SIGINT, "SIGINT")}) {
    std::filesystem::remove_all(file("b"));
    const Words again = with(with(words, checkpoints("b")), {"--resume", "auto"});
    const pid_t child = start(again);
    wait_for_step("b", 21, child);
    ::kill(child, signal);
    const Outcome outcome = finish(child);
    EXPECT_EQ(outcome.code, 128 + signal) << outcome.err;
    EXPECT_NE(outcome.out.find("interrupted after step "), std::string::npos) << outcome.out;
    EXPECT_NE(outcome.err.find(name), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(fmt::format("after step {};", newest_step("b"))), std::string::npos)
        << "the newest checkpoint is of the last step: " << outcome.err;
    EXPECT_EQ(succeed(again).err.find("damaged"), std::string::npos);
    EXPECT_TRUE(read_file(file("a.st")) == read_file(file("b.st"))) << name;
  }
}

TEST_F(CliCheckpoint, AFinishedRunTakenUpAgainIsFinished) {
  succeed(small(checkpoints("c")));
  const std::string weights = read_file(file("c.st"));
  const Outcome outcome = succeed(with(small(checkpoints("c")), {"--resume", "auto"}));
  EXPECT_NE(outcome.out.find("accuracy"), std::string::npos) << outcome.out;
  EXPECT_EQ(outcome.out.find("nan"), std::string::npos) << outcome.out;
  EXPECT_TRUE(read_file(file("c.st")) == weights);
  const Json json = succeed_json(with(small(checkpoints("c")), {"--resume", "auto"}));
  EXPECT_EQ(json.at("steps"), 60);
  EXPECT_EQ(json.at("epochs").size(), 2u);
}

TEST_F(CliCheckpoint, ResumesFromANamedFile) {
  succeed(small(with(checkpoints("c"), {"--keep", "100"})));
  const auto all = in_folder("c");
  ASSERT_EQ(all.size(), 9u) << "each 7 of 60 steps, and the last";
  const Outcome outcome = succeed(small({"--resume", all.at(5).string(), "--save", "d.st"}));
  EXPECT_NE(outcome.err.find(fmt::format("resuming after step {}", step_of(all[5]))), std::string::npos);
  EXPECT_TRUE(read_file(file("c.st")) == read_file(file("d.st")));
}

TEST_F(CliCheckpoint, KeepsTheNewest) {
  succeed(small(checkpoints("c")));
  EXPECT_EQ(in_folder("c").size(), 3u) << "unless told";
  for (int keep : {1, 2, 5}) {
    const std::string name = fmt::format("keep{}", keep);
    succeed(small(with(checkpoints(name), {"--keep", std::to_string(keep)})));
    const auto all = in_folder(name);
    ASSERT_EQ(all.size(), static_cast<std::size_t>(keep));
    EXPECT_EQ(step_of(all[0]), 60);
    EXPECT_TRUE(keep == 1 || step_of(all[1]) == 56);
  }
}

TEST_F(CliCheckpoint, ATruncatedOneIsPassedOver) {
  succeed(small(checkpoints("c")));
  const std::string whole = read_file(in_folder("c").at(0));
  for (std::size_t size : {whole.size() - 1, whole.size() / 2, std::size_t{100}, std::size_t{0}}) {
    SCOPED_TRACE(fmt::format("{} bytes of {}", size, whole.size()));
    expect_passed_over(whole.substr(0, size));
  }
}

// In the numbers, in the state of the run, and in the name of the format.
TEST_F(CliCheckpoint, AnAlteredByteIsNoticedWhereverItIs) {
  succeed(small(checkpoints("c")));
  const std::string whole = read_file(in_folder("c").at(0));
  for (std::size_t at : {whole.size() - 5, whole.find("first_loss") + 2,
                         whole.find("headroom-checkpoint") + 3, whole.find("checksum") + 2}) {
    SCOPED_TRACE(fmt::format("byte {} of {}", at, whole.size()));
    std::string altered = whole;
    altered[at] = static_cast<char>(altered[at] ^ 1);
    expect_passed_over(altered);
  }
}

TEST_F(CliCheckpoint, OneOfAnotherRunIsRefusedByWhatDiffers) {
  succeed(small(checkpoints("c")));
  const Words resume = {"--checkpoint-dir", "c", "--resume", "auto"};
  auto changed = [&](const std::string& option, const std::string& value) {
    Words words = small(resume);
    const auto it = std::ranges::find(words, option);
    if (it == words.end()) return with(words, {option, value});
    *(it + 1) = value;
    return words;
  };
  expect_refused(changed("--batch", "25"), {"step-000000000060", "another run", "batch", "20", "25"});
  expect_refused(changed("--seed", "4"), {"another run", "seed", "3", "4"});
  expect_refused(changed("--train-size", "580"), {"training images", "600", "580"});
  expect_refused(changed("--lr", "0.125"), {"learning rate", "0.125"});
  expect_refused(changed("--optimizer", "adam"), {"optimizer", "adam"});
  expect_refused(changed("--schedule", "cosine"), {"schedule"});
  expect_refused(changed("--precision", "fp64"), {"precision", "fp32", "fp64"});
  expect_refused(changed("--augment", "crop"), {"augmentation"});
  expect_refused(changed("--pixels", "raw"), {"pixels"});
  Words other = small(resume);
  other[1] = "mlp:hidden=9";
  expect_refused(other, {"another run", "model"});
}

// A folder belongs to one run. Before, a second run rotated its own checkpoints away behind those of the
// first.
TEST_F(CliCheckpoint, AUsedFolderIsRefusedAndStaysAsItIs) {
  succeed(small(checkpoints("c")));
  const std::string newest = read_file(in_folder("c").at(0));
  expect_refused(small(checkpoints("c")), {"folder c", "up to step 60", "--resume auto", "--checkpoint-dir"});
  Words other = small(checkpoints("c"));
  *(std::ranges::find(other, "--seed") + 1) = "4";
  expect_refused(other, {"folder c", "another run", "seed is 3, not 4", "--checkpoint-dir"});
  EXPECT_TRUE(read_file(in_folder("c").at(0)) == newest);
}

TEST_F(CliCheckpoint, ANamedFileDoesNotMixTwoRunsInOneFolder) {
  succeed(small(with(checkpoints("c"), {"--keep", "9"})));
  const std::string early = in_folder("c").at(5).string();
  expect_refused(small(with(checkpoints("c"), {"--resume", early})),
                 {"folder c", "up to step 60", fmt::format("after step {}", step_of(early))});
  Words other = small({"--checkpoint-dir", "d", "--lr", "0.25"});
  succeed(other);
  expect_refused(small(with(checkpoints("d"), {"--resume", early})), {"folder d", "another run", "0.25"});
  succeed(small(with(checkpoints("e"), {"--resume", early})));
  EXPECT_TRUE(read_file(file("c.st")) == read_file(file("e.st")));
}

// An older checkpoint of another run would be rotated away without a word.
TEST_F(CliCheckpoint, AnOlderOneOfAnotherRunIsNoticed) {
  succeed(small(checkpoints("c")));
  succeed(small({"--checkpoint-dir", "d", "--lr", "0.25"}));
  std::filesystem::copy(in_folder("d").at(0), file("c/step-000000000005.safetensors"));
  expect_refused(with(small(checkpoints("c")), {"--resume", "auto"}),
                 {"folder c", "step-000000000005", "another run"});
}

TEST_F(CliCheckpoint, DamagedOnesDoNotPushNewOnesOut) {
  succeed(small(checkpoints("c")));
  for (const auto& path : in_folder("c")) put(std::filesystem::relative(path, folder()).string(), "damage");
  const Words again =
      train("mlp:hidden=8", {"--epochs", "1", "--checkpoint-dir", "c", "--keep", "1", "--resume", "auto"});
  const Outcome outcome = succeed(again);
  EXPECT_NE(outcome.err.find("starting from the beginning"), std::string::npos) << outcome.err;
  EXPECT_TRUE(files().count("c/step-000000000030.safetensors")) << "its own newest";
  EXPECT_TRUE(files().count("c/step-000000000060.safetensors")) << "not ours to delete";
  EXPECT_NE(succeed(again).err.find("resuming after step 30"), std::string::npos);
}

TEST_F(CliCheckpoint, ADamagedFileIsAWrongRequest) {
  succeed(small(checkpoints("c")));
  const std::string name = std::filesystem::relative(in_folder("c").at(0), folder()).string();
  const std::string whole = read_file(file(name));
  for (const std::string& damage :
       {whole.substr(0, whole.size() / 2), std::string(), std::string(500, 'x')}) {
    put(name, damage);
    expect_refused(small({"--resume", name}), {name, "damaged", "--resume auto"});
  }
}

TEST_F(CliCheckpoint, WeightsAreNoCheckpoint) {
  succeed(small({"--save", "w.st"}));
  expect_refused(small({"--resume", "w.st"}), {"w.st", "not a headroom checkpoint", "--weights"});
  expect_refused(small({"--resume", "w.st", "--checkpoint-dir", "new"}),
                 {"w.st", "not a headroom checkpoint"});
  expect_refused(small({"--resume", "none.st"}), {"none.st"});
}

TEST_F(CliCheckpoint, OptionsThatNeedAFolderSaySo) {
  expect_refused(small({"--checkpoint-every", "7"}), {"--checkpoint-every", "--checkpoint-dir"});
  expect_refused(small({"--keep", "2"}), {"--keep", "--checkpoint-dir"});
  expect_refused(small({"--resume", "auto"}), {"--resume auto", "--checkpoint-dir"});
  expect_refused(small({"--checkpoint-dir", "c", "--checkpoint-every", "0"}), {"--checkpoint-every", "0"});
  expect_refused(small({"--checkpoint-dir", "c", "--keep", "0"}), {"--keep", "0"});
  put("f", "a file");
  expect_refused(small({"--checkpoint-dir", "f"}), {"f", "folder"});
}

TEST_F(CliCheckpoint, AFullDiskStopsTheRunAndKeepsWhatIsThere) {
  succeed(small({"--checkpoint-dir", "c", "--save", "w.st"}));
  const auto before = files();
  const std::string old = read_file(in_folder("c").at(0));
  // Files may grow to 16 blocks of 512 bytes (1024 in some shells), a third of a checkpoint.
  ASSERT_GT(old.size(), 3 * 16 * 1024u);
  const Outcome outcome = run_shell(
      "trap '' XFSZ; ulimit -f 16; exec \"$0\" train mlp:hidden=8 --train-size 600 --test-size 50 --batch 20 "
      "--seed 3 --epochs 4 --checkpoint-dir c --checkpoint-every 7 --resume auto");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  for (const char* part : {"headroom: cannot write", "step-000000000063", "resuming after step 60"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(files(), before);
  EXPECT_TRUE(read_file(in_folder("c").at(0)) == old);
}

// A full disk at the last checkpoint does not lose the result of the run.
TEST_F(CliCheckpoint, AFullDiskAtTheEndStillPrintsTheResult) {
  const Outcome outcome = run_shell(
      "ulimit -f 16; exec \"$0\" train mlp:hidden=8 --train-size 600 --test-size 50 --batch 20 --epochs 1 "
      "--checkpoint-dir c");
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("accuracy"), std::string::npos) << outcome.out;
  for (const char* part : {"cannot write c/step-000000000030", "ulimit -f"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(files(), std::set<std::string>{"c"});
}

TEST_F(CliCheckpoint, HalfWrittenFilesOfAKilledRunAreCleared) {
  succeed(small(checkpoints("c")));
  put("c/step-000000000061.safetensors.12345.part", "half");
  put("c/notes.part", "not ours");
  succeed(with(small(checkpoints("c")), {"--resume", "auto"}));
  EXPECT_FALSE(files().count("c/step-000000000061.safetensors.12345.part"));
  EXPECT_TRUE(files().count("c/notes.part"));
}

}  // namespace
}  // namespace headroom::testing
