#include "report/profile_files.h"

#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "base/testing/bad_input.h"
#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

RunProfile watched_run() {
  RunProfile profile;
  profile.record.verb = "profile";
  Trace& t = profile.trace;
  t.lanes = {{.name = "main"}};
  add_span(t, 0, "batch iteration", 1000, 5000, 0, SpanKind::batch);
  add_window(t, 0, 0, 10000);
  return profile;
}

RunProfile watched_with_samples_and_counters() {
  RunProfile profile = watched_run();
  profile.samples.emplace();
  Sheet counters("layer_counters", {{.key = "layer", .title = "layer"}});
  counters.row({"conv"});
  profile.record.tables.push_back(counters);
  return profile;
}

class ProfileFiles : public ::testing::Test {
 protected:
  void write(const RunProfile& profile) const { write_profile(profile, folder(), 10); }
  std::filesystem::path folder() const { return temporary_.path() / "p"; }
  bool has(const char* name) const { return std::filesystem::exists(folder() / name); }
  void put(const char* name) const {
    std::filesystem::create_directories((folder() / name).parent_path());
    write_file(folder() / name, "mine");
  }
  std::set<std::string> all() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder()))
      names.insert(entry.path().lexically_relative(folder()).string());
    return names;
  }

 private:
  TemporaryFolder temporary_;
};

TEST_F(ProfileFiles, NothingOfAnEarlierProfileStays) {
  write(watched_run());
  const std::set<std::string> plain = all();
  write(watched_with_samples_and_counters());
  EXPECT_TRUE(has("samples.csv"));
  EXPECT_TRUE(has("tables/layer_counters.csv"));
  put("tables/proofs.csv");
  put("processes/host-1.process");
  put("counted/host-2.process");
  write(watched_run());
  EXPECT_EQ(all(), plain);
}

TEST_F(ProfileFiles, FilesOfOthersStay) {
  write(watched_with_samples_and_counters());
  for (const char* name : {"notes.csv", "tables/notes.txt", "tables/more/x.csv", "processes/log.txt"})
    put(name);
  write(watched_run());
  for (const char* name : {"notes.csv", "tables/notes.txt", "tables/more/x.csv", "processes/log.txt"})
    EXPECT_TRUE(has(name)) << name;
  EXPECT_FALSE(has("tables/layer_counters.csv"));
}

TEST_F(ProfileFiles, AFolderWithoutAProfileLosesNothing) {
  put("tables/prices.csv");
  put("samples.csv");
  write(watched_run());
  EXPECT_EQ(read_file(folder() / "tables/prices.csv"), "mine");
  EXPECT_EQ(read_file(folder() / "samples.csv"), "mine");
}

}  // namespace
}  // namespace headroom
