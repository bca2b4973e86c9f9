#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::expect_rejected;
using testing::TemporaryFolder;

int entries(const fs::path& folder) {
  return static_cast<int>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST(File, WritesAndReadsBytes) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\n\xff", 5);
  write_file(folder.path() / "x", bytes);
  EXPECT_EQ(read_file(folder.path() / "x"), bytes);
  write_file(folder.path() / "x", "");
  EXPECT_EQ(read_file(folder.path() / "x"), "");
  EXPECT_EQ(entries(folder.path()), 1) << "the file written aside is gone";
}

TEST(File, ReadsMoreThanTheSizeItWasTold) {
  const std::string status = read_file("/proc/self/status");  // reports size 0
  EXPECT_NE(status.find("VmRSS"), std::string::npos);
}

TEST(File, OnePathOfAFileIsAsGoodAsAnother) {
  const TemporaryFolder folder;
  const fs::path there = folder.put("x", "bytes"), here = fs::current_path();
  fs::create_symlink(there, folder.path() / "link");
  EXPECT_TRUE(is_same_file(there, folder.path() / "." / "x"));
  EXPECT_TRUE(is_same_file(there, folder.path() / "link"));
  EXPECT_TRUE(is_same_file("not-there-yet", "./not-there-yet"));
  EXPECT_TRUE(is_same_file("not-there-yet", here / "not-there-yet"));
  EXPECT_FALSE(is_same_file(there, folder.path() / "y"));
  EXPECT_FALSE(is_same_file("not-there-yet", "nor-this"));
  EXPECT_FALSE(is_same_file("/dev/null", "/dev/null"));
}

TEST(File, NamesWhatCannotBeRead) {
  const TemporaryFolder folder;
  expect_rejected([&] { read_file(folder.path() / "absent"); }, {"absent", "No such file"});
  expect_rejected([&] { read_file(folder.path()); }, {folder.path().string(), "folder"});
}

TEST(File, AFailedWriteLeavesTheOldAndNothingAside) {
  const TemporaryFolder folder;
  const fs::path occupied = folder.path() / "occupied";
  folder.put("occupied/inside", "old");
  expect_rejected([&] { write_file(occupied, "new"); }, {"occupied"});
  EXPECT_EQ(read_file(occupied / "inside"), "old");
  EXPECT_EQ(entries(folder.path()), 1) << "a .part file was left";
  expect_rejected([&] { write_file(folder.path() / "no/such/folder", "new"); }, {"no/such/folder"});
  EXPECT_EQ(entries(folder.path()), 1);
}

// The new bytes go to a separate file first: a process that has the old one open still reads it completely.
TEST(File, ReplacesRatherThanOverwrites) {
  const TemporaryFolder folder;
  const fs::path path = folder.put("x", "old");
  std::ifstream reader(path);
  write_file(path, "newer and longer");
  std::string seen;
  reader >> seen;
  EXPECT_EQ(seen, "old");
  EXPECT_EQ(read_file(path), "newer and longer");
}

TEST(File, KnowsBeforehandWhereNothingCanBeWritten) {
  const TemporaryFolder folder;
  EXPECT_NO_THROW(require_writable(folder.path() / "x"));
  EXPECT_EQ(entries(folder.path()), 0) << "asking creates nothing";
  expect_rejected([&] { require_writable(folder.path()); }, {"folder"});
  expect_rejected([&] { require_writable(folder.path() / "no" / "x"); }, {"there is no folder"});
}

// Sets a variable for one test and restores the old value.
class Variable {
 public:
  Variable(const char* name, const char* value)
      : name_(name), old_(std::getenv(name) ? std::getenv(name) : "") {
    ::setenv(name, value, 1);
  }
  ~Variable() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string old_;
};

TEST(File, TheCacheIsTheFirstFolderNamed) {
  const Variable home("HOME", "/home/somebody"), xdg("XDG_CACHE_HOME", ""), own("HEADROOM_CACHE", "");
  EXPECT_EQ(cache_dir(), fs::path("/home/somebody/.cache/headroom"));
  const Variable xdg_set("XDG_CACHE_HOME", "/caches");
  EXPECT_EQ(cache_dir(), fs::path("/caches/headroom"));
  const Variable own_set("HEADROOM_CACHE", "/here");
  EXPECT_EQ(cache_dir(), fs::path("/here"));
}

}  // namespace
}  // namespace headroom
