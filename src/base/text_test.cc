#include "base/text.h"

#include <gtest/gtest.h>

#include "base/table.h"
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

TEST(Table, AlignsNamesLeftAndNumbersRight) {
  Table table({"layer", "output", "ms"});
  table.left(1);
  table.row({"C1", "6x28x28", "1.25"});
  table.row({"out", "10", "12.50"});
  table.rule();
  table.row({"total", "", "13.75"});
  EXPECT_EQ(table.str(),
            "layer  output      ms\n"
            "---------------------\n"
            "C1     6x28x28   1.25\n"
            "out    10       12.50\n"
            "---------------------\n"
            "total           13.75\n");
}

TEST(Table, LeavesNoBlanksAtLineEndsAndFillsShortRows) {
  Table table({"name", "what it is"});
  table.left(1);
  table.row({"a"});
  table.row({"longer name", "x"});
  EXPECT_EQ(table.str(),
            "name         what it is\n"
            "-----------------------\n"
            "a\n"
            "longer name  x\n");
}

}  // namespace
}  // namespace headroom
