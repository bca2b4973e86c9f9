#pragma once

// Runs programs as several ranks with mpirun, if it is installed.

#include <chrono>
#include <csignal>
#include <thread>

#include "base/text.h"
#include "comm/world.h"
#include "program.h"

namespace headroom::testing {

// Empty if there is none.
inline std::string mpirun_path() {
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':'))
    if (const std::string name = folder + "/mpirun"; ::access(name.c_str(), X_OK) == 0) return name;
  return {};
}

// Why nothing can run as several ranks here; empty if it can.
inline std::string why_no_ranks() {
  if (const MpiSurvey mpi = survey_mpi(); !mpi.why_not.empty()) return mpi.why_not;
  return mpirun_path().empty() ? "there is no mpirun here" : "";
}

// Runs `words` (the first is a path) on `ranks` ranks. Killed after `limit_s`, with code 124.
inline Outcome run_in_ranks(int ranks, const Words& words, const std::filesystem::path& folder,
                            Environment extra = {}, double limit_s = 120) {
  Words all = {mpirun_path(), "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
  all.insert(all.end(), words.begin(), words.end());
  for (const char* name : {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    extra.emplace(name, "1");
  // Containers often forbid a process to read another's memory; MPI notices only when it tries.
  extra.emplace("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
  extra.emplace("OMPI_MCA_mpi_yield_when_idle", "1");  // tests run in parallel
  const std::filesystem::path out = folder / "out-of-ranks", err = folder / "err-of-ranks";
  const pid_t child = start_program(folder, all, extra, {out.string(), err.string()});
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  int status = 0;
  bool late = false;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (!late && std::chrono::steady_clock::now() > until) {
      late = true;
      ::kill(child, SIGTERM);  // mpirun passes it on
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const int code = late ? 124 : WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  Outcome outcome{code, read_file(out), read_file(err)};
  std::filesystem::remove(out), std::filesystem::remove(err);
  return outcome;
}

// Tests of the program on ranks; skipped with a message if there are none.
struct RanksProgramTest : ProgramTest {
  void SetUp() override {
    if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
    know_machine(1);
  }
};

// Runs the tests of this same program that `filter` names, on `ranks` ranks. They see
// HEADROOM_IN_RANKS=`mode` and are skipped without it.
inline Outcome run_tests_in_ranks(int ranks, const std::string& filter, const std::string& mode = "1",
                                  double limit_s = 120) {
  const TemporaryFolder folder;
  return run_in_ranks(ranks,
                      {"/usr/bin/env", "-u", "GTEST_TOTAL_SHARDS", "-u", "GTEST_SHARD_INDEX",
                       std::filesystem::read_symlink("/proc/self/exe").string(), "--gtest_brief=1",
                       "--gtest_filter=" + filter},
                      folder.path(), {{"HEADROOM_IN_RANKS", mode}, {"OMP_NUM_THREADS", "1"}}, limit_s);
}

inline std::string ranks_mode() {
  const char* mode = std::getenv("HEADROOM_IN_RANKS");
  return mode == nullptr ? "" : mode;
}

}  // namespace headroom::testing
