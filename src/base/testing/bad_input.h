#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/error.h"

namespace headroom::testing {

// A folder for one test, removed afterwards.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() /
            fmt::format("headroom-{}-{}-{}", test->test_suite_name(), test->name(), ::getpid());
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path put(const std::string& name, std::string_view bytes) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << bytes;  // write_file would sync each file to disk
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// Expects that `action` is rejected as a wrong request, with each of `parts` in the message.
template <class Action>
void expect_rejected(Action&& action, std::initializer_list<std::string_view> parts) {
  try {
    action();
    ADD_FAILURE() << "was accepted, but '" << *parts.begin() << "' was expected";
  } catch (const Error& e) {
    EXPECT_EQ(e.blame(), Blame::request) << e.what();
    for (std::string_view part : parts)
      EXPECT_NE(std::string_view(e.what()).find(part), std::string_view::npos)
          << "no '" << part << "' in: " << e.what();
  }
}

}  // namespace headroom::testing
