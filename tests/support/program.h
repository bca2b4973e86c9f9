#pragma once

// Runs the built program like a user: in an empty folder, with its own cache, and without the tester's
// environment variables that could change its results.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "data/testing/bad_input.h"
#include "device/device.h"
#include "machine/machine.h"

namespace headroom::testing {

using Words = std::vector<std::string>;
inline Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}
using Environment = std::map<std::string, std::string>;

struct Outcome {
  int code = -1;  // exit code; 128 + signal if one ended it, as in shells
  std::string out, err;
};

// Files for the output streams.
struct Streams {
  std::string out, err;
};

// Two mpirun that share a folder can meet while one of them removes it. Each test has its own, with a short
// name: it holds the paths of sockets.
inline const std::filesystem::path& mpi_folder() {
  struct Folder {
    std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("hr{}", ::getpid());
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

// The first word is the path of the program.
inline pid_t start_program(const std::filesystem::path& folder, Words words, const Environment& extra,
                           const Streams& streams) {
  Words settings;
  for (char** e = environ; *e != nullptr; ++e)
    if (const std::string item = *e; !item.starts_with("HEADROOM_") && !item.starts_with("COLUMNS="))
      settings.push_back(item);
  settings.push_back("OMPI_MCA_orte_tmpdir_base=" + mpi_folder().string());
  for (const auto& [name, value] : extra) settings.push_back(name + "=" + value);
  auto pointers = [](Words& list) {
    std::vector<char*> raw;
    for (std::string& item : list) raw.push_back(item.data());
    raw.push_back(nullptr);
    return raw;
  };
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addchdir_np(&files, folder.c_str());
  constexpr int kWrite = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, streams.out.c_str(), kWrite, 0600);
  posix_spawn_file_actions_addopen(&files, 2, streams.err.c_str(), kWrite, 0600);
  pid_t child = -1;
  const int failed = ::posix_spawn(&child, words[0].c_str(), &files, nullptr, pointers(words).data(),
                                   pointers(settings).data());
  posix_spawn_file_actions_destroy(&files);
  EXPECT_EQ(failed, 0) << "cannot start " << words[0];
  return child;
}

inline int wait_for(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// One test's folder and how to run the program in it. Training measures an unknown machine first; a made-up
// machine file here saves each test two seconds.
class ProgramTest : public ::testing::Test {
 protected:
  ProgramTest() {
    std::filesystem::create_directories(folder());
    know_machine(0);
  }

  std::filesystem::path folder() const { return temporary_.path() / "work"; }
  std::filesystem::path file(const std::string& name) const { return folder() / name; }
  std::filesystem::path put(const std::string& name, std::string_view bytes) const {
    return temporary_.put("work/" + name, bytes);
  }

  void know_machine(int threads) const {
    const Capabilities cpu = cpu_capabilities(threads);
    Machine here{.name = "here", .kind = "cpu", .measured = true, .cores = cpu.threads};
    here.title = fmt::format("{}, {} thread{}", cpu.name, cpu.threads, cpu.threads == 1 ? "" : "s");
    here.peak_flops = here.one_core_peak_flops = {{"fp32", 2e11}, {"fp64", 1e11}};
    here.levels = {{"L1", 1e5, 4e11, 2e11}, {"memory", 1e10, 2e10, 1e10}};
    here.launch.host_s = 1e-6;
    temporary_.put("cache/machines/here.json", to_json(here).dump());
  }

  Environment environment() const { return {{"HEADROOM_CACHE", (temporary_.path() / "cache").string()}}; }

  pid_t start(const Words& args, const Environment& more = {}) const {
    Words words = {HEADROOM_PROGRAM};
    words.insert(words.end(), args.begin(), args.end());
    return start_any(words, more);
  }
  pid_t start_any(const Words& words, const Environment& more) const {
    Environment all = environment();
    for (const auto& [name, value] : more) all[name] = value;
    return start_program(folder(), words, all, {out_.string(), err_.string()});
  }
  Outcome finish(pid_t child) const {
    const int code = wait_for(child);
    return {code, read_file(out_), read_file(err_)};
  }
  Outcome run(const Words& args, const Environment& more = {}) const { return finish(start(args, more)); }

  // A line of shell in which $0 is the program.
  Outcome run_shell(const std::string& line) const {
    return finish(start_any({"/bin/sh", "-c", line, HEADROOM_PROGRAM}, {}));
  }

  // Runs a command that must succeed.
  Outcome succeed(const Words& args, const Environment& more = {}) const {
    Outcome outcome = run(args, more);
    EXPECT_EQ(outcome.code, 0) << fmt::format("headroom {}\n{}", fmt::join(args, " "), outcome.err);
    return outcome;
  }

  // With --json, standard output is one object and nothing else.
  Json succeed_json(Words args, const Environment& more = {}) const {
    args.push_back("--json");
    const Outcome outcome = succeed(args, more);
    Json json = Json::parse(outcome.out, nullptr, false);
    EXPECT_TRUE(json.is_object()) << fmt::format("headroom {}: {}", fmt::join(args, " "), outcome.out);
    return json;
  }

  // A wrong request: exit code 2, one message with every part, no result and no file.
  void expect_refused(const Words& args, const Words& parts, const Environment& more = {}) const {
    expect_stopped(2, args, parts, more);
  }

  void expect_stopped(int code, const Words& args, const Words& parts, const Environment& more = {}) const {
    const std::string shown = fmt::format("headroom {}", fmt::join(args, " "));
    const auto before = files();
    const Outcome outcome = run(args, more);
    EXPECT_EQ(outcome.code, code) << shown << "\n" << outcome.err;
    EXPECT_EQ(outcome.out, "") << shown;
    EXPECT_EQ(files(), before) << shown << " left something behind";
    EXPECT_TRUE(outcome.err.starts_with("headroom: ")) << shown << "\n" << outcome.err;
    const auto lines = std::count(outcome.err.begin(), outcome.err.end(), '\n');
    EXPECT_LE(lines, 2) << "one message and one hint: " << shown << "\n" << outcome.err;
    for (const std::string& part : parts)
      EXPECT_NE(outcome.err.find(part), std::string::npos) << "no '" << part << "' from " << shown << "\n"
                                                           << outcome.err;
    for (const char* internal : {"unexpected:", "exception", "std::", "terminate"})
      EXPECT_EQ(outcome.err.find(internal), std::string::npos) << shown << "\n" << outcome.err;
  }

  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder()))
      names.insert(std::filesystem::relative(entry.path(), folder()).string());
    return names;
  }

  TemporaryFolder temporary_;
  const std::filesystem::path out_ = temporary_.path() / "out", err_ = temporary_.path() / "err";
};

}  // namespace headroom::testing
