#include "base/text.h"

#include <gtest/gtest.h>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using Names = std::vector<std::string>;
using testing::expect_rejected;

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a,b,,c", ','), (Names{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), (Names{""}));
  EXPECT_EQ(split(",", ','), (Names{"", ""}));
  EXPECT_EQ(split("784", 'x'), (Names{"784"}));
}

TEST(Text, NearestNamesTheMisspelling) {
  const Names names = {"lenet5", "mlp", "alexnet"};
  EXPECT_EQ(nearest("lenet", names).text, "did you mean 'lenet5'?");
  EXPECT_EQ(nearest("alexnte", names).text, "did you mean 'alexnet'?");
  EXPECT_EQ(nearest("mpl", names).text, "did you mean 'mlp'?") << "two letters exchanged are one slip";
  EXPECT_EQ(nearest("transformer", names).text, "known: lenet5, mlp, alexnet");
  EXPECT_EQ(nearest("", names).text, "known: lenet5, mlp, alexnet");
  EXPECT_EQ(nearest("anything", Names{}).text, "");
  const Names kernels = {"cpu:bf16", "cuda:tiles"};
  EXPECT_EQ(nearest("cpu:fast", kernels).text, "known: cpu:bf16, cuda:tiles")
      << "the device is not a part of the word";
  EXPECT_EQ(nearest("cpu:bf61", kernels).text, "did you mean 'cpu:bf16'?");
}

TEST(Text, WholeNumbersAreReadWhole) {
  EXPECT_EQ(parse_int("-12", "--batch"), -12);
  EXPECT_EQ(parse_int("9223372036854775807", "--batch"), 9223372036854775807);
  for (const char* wrong : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "one", "9223372036854775808", "--1"})
    expect_rejected([&] { parse_int(wrong, "--batch"); }, {"--batch", fmt::format("'{}'", wrong), "whole"});
}

TEST(Text, NumbersAreReadWholeAndAreFinite) {
  EXPECT_DOUBLE_EQ(parse_double("-1.5e-3", "--lr"), -1.5e-3);
  EXPECT_DOUBLE_EQ(parse_double("2", "--lr"), 2);
  for (const char* wrong : {"", " 1", "1,5", "1.5x", "nan", "inf", "-inf", "1e999", "."})
    expect_rejected([&] { parse_double(wrong, "--lr"); }, {"--lr", fmt::format("'{}'", wrong)});
}

TEST(Text, SettingsHaveNamesAndValuesOnce) {
  const auto settings = parse_settings("a=1,b=x=y", "option", "m:a=1");
  ASSERT_EQ(settings.size(), 2u);
  EXPECT_EQ(settings[1].name, "b");
  EXPECT_EQ(settings[1].value, "x=y");
  EXPECT_TRUE(parse_settings("", "option", "").empty());
  for (const char* wrong : {"a", "a=", "=1", "a=1,", "a=1,a=2"})
    EXPECT_THROW(parse_settings(wrong, "option", ""), Error) << wrong;
}

TEST(Text, CountsInTheRightNumber) {
  EXPECT_EQ(counted(0, "thread"), "0 threads");
  EXPECT_EQ(counted(1, "thread"), "1 thread");
  EXPECT_EQ(counted(10000, "image"), "10,000 images");
}

TEST(Text, ALongListOfNamesIsCut) {
  std::vector<std::string> names;
  for (int i = 0; i < 100; ++i) names.push_back("operator" + std::to_string(i));
  const std::string hint = nearest("zzzzzzzzzzzzzzzzzzz", names).text;
  EXPECT_NE(hint.find("and 88 more"), std::string::npos) << hint;
}

TEST(Text, ReadsDurations) {
  EXPECT_DOUBLE_EQ(parse_duration("180s", "x"), 180);
  EXPECT_DOUBLE_EQ(parse_duration("3m", "x"), 180);
  EXPECT_DOUBLE_EQ(parse_duration("500ms", "x"), 0.5);
  EXPECT_DOUBLE_EQ(parse_duration("1.5h", "x"), 5400);
  EXPECT_DOUBLE_EQ(parse_duration("2.5", "x"), 2.5);
  for (const char* wrong : {"", "s", "3 s", "-1s", "0", "0s", "nan", "inf", "1d", "1m30s", "s3"})
    EXPECT_THROW(parse_duration(wrong, "x"), Error) << wrong;
}

}  // namespace
}  // namespace headroom
