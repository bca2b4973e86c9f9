#include "base/sheet.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

Sheet example() {
  Sheet sheet("layers", {{.key = "layer", .title = "layer"},
                         {.key = "output", .title = "output", .left = true},
                         {.key = "parameters", .title = "parameters", .format = Column::Format::commas},
                         {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
                         {.key = "flops", .title = ""}});
  sheet.row({"C1", "6x28x28", std::int64_t{1234567}, 0.25, 3e7});
  sheet.row({"a,\"b\"", "10", Cell{}, known(0), 1.5});
  sheet.total({"total", Cell{}, std::int64_t{1234567}, 0.25, Cell{}});
  return sheet;
}

TEST(Sheet, PrintsForPeople) {
  EXPECT_EQ(example().text(),
            "layer  output   parameters  forward ms\n"
            "--------------------------------------\n"
            "C1     6x28x28   1,234,567      0.2500\n"
            "a,\"b\"  10                -           -\n"
            "--------------------------------------\n"
            "total  -         1,234,567      0.2500\n");
}

TEST(Sheet, PrintsCsvInFull) {
  EXPECT_EQ(example().csv(),
            "layer,output,parameters,forward_ms,flops\n"
            "C1,6x28x28,1234567,0.25,30000000\n"
            "\"a,\"\"b\"\"\",10,,,1.5\n"
            "total,,1234567,0.25,\n");
}

TEST(Sheet, GivesRowsAsObjects) {
  const Json objects = example().objects();
  ASSERT_EQ(objects.size(), 2u) << "totals are sums of what is there";
  EXPECT_EQ(objects[0], Json::parse(R"({"layer": "C1", "output": "6x28x28", "parameters": 1234567,
                                        "forward_ms": 0.25, "flops": 3e7})"));
  EXPECT_EQ(objects[1], Json::parse(R"({"layer": "a,\"b\"", "output": "10", "flops": 1.5})"));
}

TEST(Sheet, IsReadAgain) {
  const Sheet sheet = example(), again = Sheet::from_json(sheet.to_json(), "x");
  EXPECT_EQ(again, sheet);
  EXPECT_EQ(again.text(), sheet.text());
  EXPECT_EQ(std::get<double>(again.at(0, "forward_ms")), 0.25);
  EXPECT_THROW(again.at(0, "backward_ms"), Error);
  for (const char* wrong :
       {"{}", R"({"name": "x", "columns": [], "rows": [{"cells": [1], "total": false, "rule": false}]})",
        R"({"name": "x", "columns": 3, "rows": []})", "[]"})
    EXPECT_THROW(Sheet::from_json(Json::parse(wrong), "x"), Error) << wrong;
}

TEST(Sheet, ARowHasACellForEveryColumn) {
  Sheet sheet = example();
  EXPECT_THROW(sheet.row({"one"}), Error);
}

}  // namespace
}  // namespace headroom
