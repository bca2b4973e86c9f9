// Failures on some of several ranks: reported once, with the cause, and no rank waits forever.
#include <gtest/gtest.h>

#include <cmath>

#include "base/version.h"
#include "data/safetensors.h"
#include "support/ranks.h"
#include "support/small_data.h"

namespace headroom::testing {
namespace {

using Clock = std::chrono::steady_clock;

struct RanksFailure : RanksProgramTest {
  static Words program(const Words& more) {
    return with({HEADROOM_PROGRAM, "train"}, with(more, {"--threads", "1"}));
  }
  Outcome train(int ranks, const Words& more, double limit_s = 60) const {
    return run_in_ranks(ranks, program(more), folder(), environment(), limit_s);
  }
  // The first rank runs one command, the second another.
  Outcome apart(const Words& first, const Words& second) const {
    return run_in_ranks(1, with(with(first, {":", "-n", "1"}), second), folder(), environment(), 30);
  }

  static int count(const std::string& text, const std::string& part) {
    int n = 0;
    for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
    return n;
  }
  // One message from the program, whatever mpirun adds to it.
  static void expect_refused(const Outcome& outcome, const Words& parts, int code = 2) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.out.find("accuracy"), std::string::npos);
    EXPECT_EQ(count(outcome.err, "headroom: "), 1) << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << "no '" << part << "' in\n" << outcome.err;
    for (const char* internal : {"unexpected:", "exception", "std::", "terminate called"})
      EXPECT_EQ(outcome.err.find(internal), std::string::npos) << outcome.err;
  }

  // 30 steps per epoch.
  static Words run(const std::string& name, const Words& more = {}, int epochs = 6, int every = 5) {
    return with({"mlp:hidden=128", "--train-size", "600", "--test-size", "50", "--batch", "20", "--seed", "3",
                 "--precision", "fp64", "--epochs", std::to_string(epochs), "--checkpoint-dir", name,
                 "--checkpoint-every", std::to_string(every), "--save", name + ".st"},
                more);
  }
  int newest_step(const std::string& name) const {
    int newest = 0;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(file(name), none))
      if (entry.path().extension() == ".safetensors")
        newest = std::max(newest, std::stoi(entry.path().filename().string().substr(5)));
    return newest;
  }

  // A running mpirun.
  pid_t start_ranks(int ranks, const Words& words) const {
    Words all = {mpirun_path(), "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
    return start_any(with(all, program(words)), {{"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                                 {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                                 {"OMPI_MCA_btl_vader_single_copy_mechanism", "none"},
                                                 {"OMPI_MCA_mpi_yield_when_idle", "1"}});
  }
  static bool is_over(pid_t child) {
    siginfo_t ended{};
    ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    return ended.si_pid != 0;
  }
  void wait_for_step(const std::string& name, int step, pid_t child) const {
    while (newest_step(name) < step && !is_over(child))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // The process that mpirun has started as this rank.
  static pid_t find_rank(pid_t mpirun, int rank) {
    const std::string parent = fmt::format("PPid:\t{}\n", mpirun),
                      self = fmt::format("OMPI_COMM_WORLD_RANK={}", rank);
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      try {
        if (read_file(entry.path() / "status").find(parent) == std::string::npos) continue;
        for (const std::string& variable : split(read_file(entry.path() / "environ"), '\0'))
          if (variable == self) return std::stoi(name);
      } catch (const Error&) {  // ended in the meantime
      }
    }
    return 0;
  }
  // Waits up to `limit_s`, then kills it.
  Outcome finish_within(pid_t child, double limit_s) const {
    const auto start = Clock::now();
    while (!is_over(child) && std::chrono::duration<double>(Clock::now() - start).count() < limit_s)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (!is_over(child)) {
      ADD_FAILURE() << "still running after " << limit_s << " s";
      ::kill(child, SIGKILL);
    }
    return finish(child);
  }
  // Copies the newest checkpoint of an interrupted run, so that several runs can resume from it.
  void copy_folder(const std::string& from, const std::string& to) const {
    std::filesystem::copy(file(from), file(to), std::filesystem::copy_options::recursive);
  }
  double distance(const std::string& x, const std::string& y) const {
    const TensorFile left = read_safetensors(file(x)), right = read_safetensors(file(y));
    double worst = 0;
    for (std::size_t t = 0; t < left.tensors.size(); ++t) {
      const NamedTensor &a = left.tensors[t], &b = right.tensors.at(t);
      EXPECT_EQ(a.name, b.name);
      const auto* p = reinterpret_cast<const double*>(a.bytes.data());
      const auto* q = reinterpret_cast<const double*>(b.bytes.data());
      double largest = 0, difference = 0;
      for (std::int64_t i = 0; i < a.type.shape.numel(); ++i) {
        largest = std::max(largest, std::abs(p[i]));
        difference = std::max(difference, std::abs(p[i] - q[i]));
      }
      worst = std::max(worst, difference / largest);
    }
    return worst;
  }
};

TEST_F(RanksFailure, AKilledRankEndsTheJobAndTheRunGoesOnToTheSameBits) {
  EXPECT_EQ(train(2, run("a")).code, 0);
  const pid_t job = start_ranks(2, run("b"));
  wait_for_step("b", 10, job);
  const pid_t victim = find_rank(job, 1);
  ASSERT_GT(victim, 0);
  ::kill(victim, SIGKILL);
  const Outcome killed = finish_within(job, 30);
  EXPECT_NE(killed.code, 0);
  EXPECT_NE(killed.err.find("rank 1"), std::string::npos) << killed.err;
  ASSERT_FALSE(std::filesystem::exists(file("b.st")));
  for (const char* more : {"one", "three"}) copy_folder("b", more);

  const Words resume = {"--resume", "auto"};
  const Outcome resumed = train(2, run("b", resume));
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(count(resumed.err, "resuming after step "), 1) << resumed.err;
  EXPECT_TRUE(read_file(file("a.st")) == read_file(file("b.st")));
  EXPECT_EQ(train(3, run("three", resume)).code, 0);
  EXPECT_EQ(finish(start_any(program(run("one", resume)), {})).code, 0);
  for (const char* other : {"one.st", "three.st"}) {
    EXPECT_GT(distance("a.st", other), 0) << other;
    EXPECT_LT(distance("a.st", other), 1e-11) << other;
  }
}

// Checkpoints hold split optimizer state and layers as a whole; the resuming run splits them again.
TEST_F(RanksFailure, PartsAreTakenUpByAnotherNumberOfRanks) {
  const Words short_run = {
      "mlp:hidden=37", "--train-size", "200",    "--test-size", "50",          "--batch", "20",
      "--precision",   "fp64",         "--seed", "3",           "--optimizer", "adam"};
  const Words all = with(short_run, {"--epochs", "2", "--save", "all.st"});
  EXPECT_EQ(finish(start_any(program(all), {})).code, 0);
  const Words first = with(short_run, {"--epochs", "1", "--checkpoint-dir", "c"});
  const Words second =
      with(short_run, {"--epochs", "2", "--checkpoint-dir", "c", "--resume", "auto", "--save", "w.st"});
  EXPECT_EQ(train(3, with(first, {"--shard-optimizer"})).code, 0);
  const Outcome outcome = train(2, with(second, {"--parallel", "model"}));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("resuming after step 10"), std::string::npos) << outcome.err;
  EXPECT_LT(distance("all.st", "w.st"), 1e-10);
}

// An endless run gets a signal: all ranks save at the same step, and the message says how to resume.
TEST_F(RanksFailure, ASignalToTheJobOrToOneRankSavesAndStopsAll) {
  enum Target { job, one_rank };
  for (const auto& [name, signal, target] : {std::tuple("int", SIGINT, job), std::tuple("term", SIGTERM, job),
                                             std::tuple("one", SIGTERM, one_rank)}) {
    SCOPED_TRACE(name);
    const pid_t mpirun = start_ranks(2, run(name, {}, 100'000, 1'000'000'000));
    while (read_file(err_).find("epoch 2 of") == std::string::npos && !is_over(mpirun))
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    ::kill(target == job ? mpirun : find_rank(mpirun, 1), signal);
    const Outcome stopped = finish_within(mpirun, 30);
    EXPECT_NE(stopped.code, 0) << stopped.err;
    if (target == one_rank) {
      EXPECT_EQ(stopped.code, 128 + SIGTERM);
    }
    const std::string said = "stopped by SIGTERM after step ";  // mpirun turns both into this
    const std::size_t at = stopped.err.find(said);
    ASSERT_NE(at, std::string::npos) << stopped.err;
    EXPECT_EQ(std::stoi(stopped.err.substr(at + said.size())), newest_step(name));
    EXPECT_NE(stopped.err.find("--resume auto"), std::string::npos);
  }
}

TEST_F(RanksFailure, RanksThatWereGivenDifferentThingsSayWhat) {
  const Words same = {"mlp:hidden=8", "--train-size", "100", "--test-size", "50", "--batch", "20"};
  const Words usual = program(same);
  expect_refused(apart(usual, program(with(same, {"--seed", "7"}))), {"rank 1", "another", "seed", "7"});
  Words fewer = same;
  fewer[2] = "80";
  expect_refused(apart(usual, program(fewer)), {"rank 1", "number of training images", "80", "100"});
  expect_refused(apart(usual, program(with(same, {"--precision", "fp64"}))), {"rank 1", "precision", "fp64"});
  expect_refused(apart(usual, program(with(same, {"--parallel", "model"}))), {"rank 1", "parallel"});
  expect_refused(apart(usual, program(with(same, {"--epochs", "3"}))), {"rank 1", "epochs", "3"});
}

TEST_F(RanksFailure, DifferentDataIsFoundByItsChecksum) {
  Dataset set = make_glyphs({.train = 64, .test = 32});
  for (const auto& [name, bytes] : idx_files(set)) put("one/mnist/" + name, bytes);
  set.train.pixels[1000] ^= 1;
  for (const auto& [name, bytes] : idx_files(set)) put("two/mnist/" + name, bytes);
  auto from = [&](const char* folder) {
    return program({"mlp:hidden=8", "--data", "mnist", "--batch", "16", "--data-dir", file(folder).string()});
  };
  EXPECT_EQ(apart(from("one"), from("one")).code, 0);
  expect_refused(apart(from("one"), from("two")), {"rank 1", "data checksum"});
  expect_refused(apart(from("one"), from("none")), {"rank 1", "none"});
  expect_refused(apart(from("none"), from("one")), {"rank 0", "none"});
  expect_refused(apart(from("none"), from("none")), {"none"});
  // If the first rank reads for all, the others need no data.
  auto scattered = [&](const char* folder) { return with(from(folder), {"--shard", "scatter"}); };
  EXPECT_EQ(apart(scattered("one"), scattered("none")).code, 0);
  expect_refused(apart(scattered("none"), scattered("one")), {"none"});
}

// The same program with another commit hash in it.
TEST_F(RanksFailure, DifferentBuildsAreRefused) {
  std::string bytes = read_file(HEADROOM_PROGRAM);
  const std::string own(commit());
  std::string other = own;
  std::ranges::fill(other, '0');
  for (std::size_t at = 0; (at = bytes.find(own, at)) != std::string::npos; at += own.size())
    bytes.replace(at, own.size(), other);
  put("other", bytes);
  std::filesystem::permissions(file("other"), std::filesystem::perms::owner_all);
  const Words same = {"mlp:hidden=8", "--train-size", "100", "--test-size", "50", "--batch", "20"};
  Words second = program(same);
  second[0] = file("other").string();
  expect_refused(apart(program(same), second), {"rank 1", "another build", own, other});
}

TEST_F(RanksFailure, ARankThatDoesNotStartEndsTheOthers) {
  const Words usual = program({"mlp:hidden=8", "--train-size", "100", "--test-size", "50", "--batch", "20"});
  const Outcome failed = apart(usual, {"/bin/false"});
  EXPECT_NE(failed.code, 0);
  EXPECT_NE(failed.code, 124) << "hung";
  const Outcome missing = apart(usual, {file("nothing-there").string()});
  EXPECT_NE(missing.code, 0);
  EXPECT_NE(missing.code, 124) << "hung";
  EXPECT_NE(missing.err.find("nothing-there"), std::string::npos) << missing.err;
}

TEST_F(RanksFailure, AWrongRequestIsAnsweredOnce) {
  const Words same = {"mlp:hidden=8", "--train-size", "100", "--test-size", "50", "--batch", "20"};
  auto asked = [&](int ranks, const Words& more) { return train(ranks, with(same, more)); };
  expect_refused(asked(3, {"--bach", "20"}), {"--bach"});
  expect_refused(asked(2, {"--parallel", "modell"}), {"modell", "model"});
  expect_refused(asked(2, {"--shard", "reed"}), {"reed", "read"});
  expect_refused(asked(4, {"--parallel", "hybrid:3x2"}), {"hybrid:3x2", "6 ranks", "4", "mpirun -n 6"});
  expect_refused(asked(2, {"--parallel", "hybrid:2"}), {"hybrid:2", "hybrid:2x2"});
  expect_refused(asked(2, {"--parallel", "model", "--shard-optimizer"}),
                 {"--shard-optimizer", "--parallel data"});
  expect_refused(train(3, {"mlp:hidden=8", "--train-size", "100", "--test-size", "50", "--batch", "2"}),
                 {"batch of 2", "3 ranks"});
  expect_refused(asked(2, {"--resume", "none.st"}), {"none.st"});
  put("flat.json", R"({"name": "flat", "input": [1, 28, 28], "layers": [{"type": "linear", "units": 10}]})");
  expect_refused(train(2, {"flat.json", "--train-size", "100", "--test-size", "50", "--parallel", "model"}),
                 {"flat", "--parallel data"});
  // A single process reports an impossible request too.
  const Outcome alone = finish(start_any(program(with(same, {"--parallel", "hybrid:2x2"})), {}));
  EXPECT_EQ(alone.code, 2);
  EXPECT_NE(alone.err.find("mpirun -n 4"), std::string::npos) << alone.err;
}

TEST_F(RanksFailure, ALossThatIsNoNumberStopsAllRanks) {
  const Outcome outcome = train(2, {"mlp:hidden=8,activation=relu", "--train-size", "320", "--test-size",
                                    "50", "--lr", "1e30", "--batch", "32"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  for (const char* part : {"rank ", "loss became", "smaller --lr"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace headroom::testing
