#pragma once

// What tests of machine files share: an empty cache folder, a small machine, and what a refusal says.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/error.h"
#include "base/json.h"
#include "machine/machine.h"

namespace headroom::testing {

// Each test has its own empty cache folder.
class MachineFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / fmt::format("headroom_machines_{}", ::getpid());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    ::setenv("HEADROOM_CACHE", folder_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("HEADROOM_CACHE");
    std::filesystem::remove_all(folder_);
  }
  void write(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::filesystem::path folder_;
};

inline Error refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was refused";
  return Error(Blame::run, "");
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

inline Json small() {
  return Json::parse(R"({"title": "t", "kind": "gpu", "peak_flops": {"fp32": 1e12},
                         "levels": [{"name": "memory", "bytes": 1e9, "bytes_per_s": 1e11}]})");
}

}  // namespace headroom::testing
