#include "train/finished_rows.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

class FinishedRowsFile : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "rows.jsonl"; }
  TemporaryFolder folder_;
};

TEST_F(FinishedRowsFile, KeepsWhatWasAdded) {
  {
    FinishedRows rows(file());
    EXPECT_EQ(rows.size(), 0u);
    EXPECT_EQ(rows.find("a"), nullptr);
    rows.add("a", {{"accuracy", 0.5}});
    rows.add("b\n", {{"accuracy", 0.25}});
  }
  const FinishedRows again(file());
  EXPECT_FALSE(again.dropped_last());
  ASSERT_NE(again.find("b\n"), nullptr);
  EXPECT_EQ(again.find("a")->at("accuracy"), 0.5);
  EXPECT_EQ(again.find("b\n")->at("accuracy"), 0.25);
  const std::string text = read_file(file());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "one line each";
}

TEST_F(FinishedRowsFile, DropsADamagedLastLine) {
  FinishedRows rows(file());
  rows.add("a", {{"x", 1}});
  rows.add("b", {{"x", 2}});
  const std::string whole = read_file(file());
  for (const std::size_t cut : {2u, 5u, 10u}) {
    write_file(file(), whole.substr(0, whole.size() - cut));
    FinishedRows left(file());
    EXPECT_TRUE(left.dropped_last()) << cut;
    EXPECT_NE(left.find("a"), nullptr);
    EXPECT_EQ(left.find("b"), nullptr);
    left.add("b", {{"x", 2}});
    EXPECT_EQ(read_file(file()), whole) << "the damaged line is gone";
  }
  write_file(file(), "{\"key\":\"a\",\"res");
  EXPECT_TRUE(FinishedRows(file()).dropped_last());
}

TEST_F(FinishedRowsFile, RefusesOtherFiles) {
  write_file(file(), "a letter\n");
  expect_rejected([&] { FinishedRows{file()}; }, {"rows.jsonl:1", "not a finished row"});
  write_file(file(),
             "{\"key\":\"a\",\"result\":{}}\n{\"key\":1,\"result\":{}}\n{\"key\":\"b\",\"result\":{}}\n");
  expect_rejected([&] { FinishedRows{file()}; }, {"rows.jsonl:2"});
}

}  // namespace
}  // namespace headroom::testing
