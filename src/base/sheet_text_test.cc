#include <gtest/gtest.h>

#include <algorithm>

#include "base/sheet.h"
#include "base/text.h"

namespace headroom {
namespace {

Sheet layers() {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"},
                         {.key = "output", .title = "output", .left = true, .priority = 1},
                         {.key = "parameters", .title = "parameters", .priority = 2},
                         {.key = "forward_ms", .title = "forward ms"}});
  sheet.row({"conv", "6x28x28", std::int64_t{156}, 0.25});
  sheet.row({"pool", "6x14x14", Cell{}, 4.0});
  sheet.row({"out", "10", std::int64_t{850}, 1.0});
  sheet.total({"total", "", std::int64_t{1006}, 5.25});
  return sheet;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines = split(text, '\n');
  lines.pop_back();
  return lines;
}

TEST(SheetText, AlignsNamesLeftAndNumbersRight) {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"},
                         {.key = "output", .title = "output", .left = true},
                         {.key = "ms", .title = "ms", .format = Column::Format::hundredths}});
  sheet.row({"C1", "6x28x28", 1.25});
  sheet.row({"out", "10", 12.5});
  sheet.total({"total", "", 13.75});
  EXPECT_EQ(sheet.text(),
            "layer  output      ms\n"
            "---------------------\n"
            "C1     6x28x28   1.25\n"
            "out    10       12.50\n"
            "---------------------\n"
            "total           13.75\n");
}

TEST(SheetText, LeavesNoBlanksAtLineEnds) {
  Sheet sheet("names",
              {{.key = "name", .title = "name"}, {.key = "what", .title = "what it is", .left = true}});
  sheet.row({"a", ""});
  sheet.row({"longer name", "x"});
  EXPECT_EQ(sheet.text(),
            "name         what it is\n"
            "-----------------------\n"
            "a\n"
            "longer name  x\n");
}

TEST(SheetText, LeastImportantColumnsGoFirst) {
  EXPECT_EQ(layers().text({.width = 36, .remedy = "--wide shows all"}),
            "layer  output   forward ms\n"
            "--------------------------\n"
            "conv   6x28x28      0.2500\n"
            "pool   6x14x14      4.0000\n"
            "out    10           1.0000\n"
            "--------------------------\n"
            "total               5.2500\n"
            "At 36 columns without parameters; --wide shows all.\n");
  EXPECT_EQ(lines_of(layers().text({.width = 20}))[0], "layer  forward ms");
  EXPECT_EQ(lines_of(layers().text({.width = 20})).back(), "At 20 columns without parameters, output.");
}

TEST(SheetText, NothingIsLeftOutOfATableThatFits) {
  EXPECT_EQ(layers().text({.width = 38}), layers().text());
  EXPECT_EQ(layers().text({.width = 0}), layers().text()) << "no limit";
  EXPECT_NE(layers().text({.width = 37}), layers().text());
}

TEST(SheetText, EveryWidthIsKept) {
  Sheet sheet("models", {{.key = "model", .title = "model"},
                         {.key = "title", .title = "title", .left = true, .wrap = true},
                         {.key = "options", .title = "options", .left = true, .wrap = true},
                         {.key = "where", .title = "where", .left = true, .priority = 1}});
  sheet.row({"résnet", "residual networks of many depths", "depth=18|34|50|101|152, width=1, input=224",
             "/a/very/long/path/without/any/blank/in/it/at/all"});
  const auto characters = [](const std::string& line) {
    return std::ranges::count_if(line, [](unsigned char c) { return (c & 0xC0) != 0x80; });
  };
  for (int width = 34; width < 160; ++width)
    for (const std::string& line : lines_of(sheet.text({.width = width})))
      EXPECT_TRUE(line.starts_with("At ") || characters(line) <= width) << width << "\n" << line;
}

TEST(SheetText, LongTextsWrapAtBlanks) {
  Sheet sheet("models", {{.key = "model", .title = "model"},
                         {.key = "options", .title = "options", .left = true, .wrap = true}});
  sheet.row({"mlp", "hidden=512, input=784, classes=10"});
  EXPECT_EQ(sheet.text({.width = 24}),
            "model  options\n"
            "------------------------\n"
            "mlp    hidden=512,\n"
            "       input=784,\n"
            "       classes=10\n");
}

TEST(SheetText, AWordLongerThanItsColumnIsBroken) {
  Sheet sheet("paths", {{.key = "n", .title = "n"}, {.key = "p", .title = "p", .left = true, .wrap = true}});
  sheet.row({std::int64_t{1}, "/0123456789/0123456789"});
  EXPECT_EQ(sheet.text({.width = 15}),
            "n  p\n"
            "---------------\n"
            "1  /0123456789/\n"
            "   0123456789\n");
}

TEST(SheetText, NamesKeepTheirEnds) {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"}, {.key = "ms", .title = "ms"}});
  sheet.row({"/model/layer1/layer1.0/conv1/Conv", 1.0});
  EXPECT_EQ(lines_of(sheet.text({.width = 28}))[2], "/model/lay…onv1/Conv  1.0000");
  EXPECT_EQ(lines_of(sheet.text({.width = 28, .remedy = "--wide shows all"})).back(),
            "At 28 columns, long texts are cut (…); --wide shows all.");
}

// The layers of a profile: rows between the rule and the total belong to no layer, and add up to it.
Sheet layers_of_a_step() {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"}, {.key = "ms", .title = "ms"}});
  sheet.row({"conv", 1.0});
  sheet.row({"pool", 3.0});
  sheet.row({"out", 2.0});
  sheet.rule();
  sheet.row({"all layers", 6.0});
  sheet.row({"idle", 0.5});
  sheet.total({"step", 6.5});
  return sheet;
}

constexpr const char* kSums =
    "------------------\n"
    "all layers  6.0000\n"
    "idle        0.5000\n"
    "------------------\n"
    "step        6.5000\n";

TEST(SheetText, SumsStayBelowTheRule) {
  const std::string head =
      "layer           ms\n"
      "------------------\n";
  EXPECT_EQ(layers_of_a_step().text({.sort = "ms"}), head +
                                                         "pool        3.0000\n"
                                                         "out         2.0000\n"
                                                         "conv        1.0000\n" +
                                                         kSums);
  EXPECT_EQ(layers_of_a_step().text({.sort = "ms", .top = 1}), head + "pool        3.0000\n" + kSums);
  EXPECT_EQ(layers_of_a_step().text({.top = 2}), head +
                                                     "conv        1.0000\n"
                                                     "pool        3.0000\n" +
                                                     kSums);
}

TEST(SheetText, ASummaryAddsUp) {
  EXPECT_EQ(layers_of_a_step().text({.summary = true}), std::string("layer           ms\n") + kSums);
}

TEST(SheetText, IsSortedByAColumn) {
  for (const char* name : {"forward ms", "forward_ms", "forward-ms", "Forward ms"}) {
    const auto lines = lines_of(layers().text({.sort = name}));
    EXPECT_TRUE(lines[2].starts_with("pool") && lines[3].starts_with("out") && lines[4].starts_with("conv"));
    EXPECT_TRUE(lines[6].starts_with("total")) << "totals stay last";
  }
  EXPECT_TRUE(lines_of(layers().text({.sort = "parameters"}))[4].starts_with("pool")) << "empty cells last";
  EXPECT_TRUE(lines_of(layers().text({.sort = "layer"}))[2].starts_with("conv")) << "texts rise";
  EXPECT_THROW(layers().text({.sort = "froward ms"}), Error);
  EXPECT_FALSE(layers().has_column("flops"));
}

TEST(SheetText, PrintsTheFirstRowsOrOnlyTheTotal) {
  EXPECT_EQ(lines_of(layers().text({.sort = "forward ms", .top = 1})).size(), 5u);
  EXPECT_EQ(lines_of(layers().text({.top = 99})).size(), 7u);
  EXPECT_EQ(layers().text({.summary = true}),
            "layer  output  parameters  forward ms\n"
            "-------------------------------------\n"
            "total                1006      5.2500\n");
  Sheet plain("plain", {{.key = "n", .title = "n"}});
  plain.row({std::int64_t{3}});
  EXPECT_EQ(plain.text({.summary = true}), plain.text()) << "without a total there is nothing shorter";
}

TEST(SheetText, EscapeCodesInNamesAreShown) {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"}});
  sheet.row({"a\033[31mred\nb"});
  EXPECT_EQ(lines_of(sheet.text())[2], "a\\x1b[31mred\\x0ab");
}

TEST(Printable, ReplacesWhatSteersATerminal) {
  EXPECT_EQ(printable("plain, größer …\U0001F600"), "plain, größer …\U0001F600");
  EXPECT_EQ(printable("\033]0;title\007"), "\\x1b]0;title\\x07");
  EXPECT_EQ(printable("\u009b31m"), "\\xc2\\x9b31m") << "the one-character form of ESC [";
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "\\x9b31m")
      << "and as a bare byte";
  EXPECT_EQ(printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(printable("\x7f\r"), "\\x7f\\x0d");
  EXPECT_EQ(printable("a\tb\n", true), "a\tb\n");
  EXPECT_EQ(printable("a\tb\n"), "a\\x09b\\x0a");
}

}  // namespace
}  // namespace headroom
