#include "timing/timing_table.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

std::string message_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TimingTable, ReadsColumnsInAnyOrderAndKeepsOthers) {
  const TimingTable t = parse_timing_table(
      "us,k,remark,m,n,device\r\n1.5,64,\"a, \"\"b\"\"\",8,16,h200\r\n\r\n2,1,,2,3,v100\n", "t");
  ASSERT_EQ(t.rows.size(), 2u);
  EXPECT_EQ(t.rows[0][t.need("remark")], "a, \"b\"");
  EXPECT_EQ(t.lines, (std::vector<std::size_t>{2, 4}));
  const std::vector<TimingRow> rows = rows_of(t, form_of(t), true);
  EXPECT_EQ(rows[0].sizes, (std::vector<double>{8, 16, 64}));
  EXPECT_EQ(rows[1].device, "v100");
  EXPECT_EQ(rows[0].us, 1.5);
}

TEST(TimingTable, WritesWhatItReadWithFurtherColumns) {
  const TimingTable t = parse_timing_table("a,low_us\n\"x,y\",7\n", "t");
  EXPECT_EQ(to_csv(t, {{"low_us", {"3"}}, {"new", {"q\"r"}}}), "a,low_us,new\n\"x,y\",3,\"q\"\"r\"\n");
}

TEST(TimingTable, NamesTheLineOfWhatIsWrong) {
  const auto error = [](const std::string& text) {
    return message_of([&] {
      const TimingTable t = parse_timing_table(text, "t.csv");
      rows_of(t, form_of(t), true);
    });
  };
  EXPECT_EQ(error(""), "t.csv is empty");
  EXPECT_EQ(error("m,n,k,us\n"), "t.csv has no rows below its header");
  EXPECT_EQ(error("m,n,k,us\n1,2,3\n"), "t.csv, line 2: 3 cells for 4 columns");
  EXPECT_EQ(error("m,n,m,us\n1,2,3,4\n"), "t.csv: two columns are called 'm'");
  EXPECT_EQ(error("m,n,k,us\n1,2,3,4\n1,2,3,0\n"), "t.csv, line 3: the time '0' is not a number above 0");
  EXPECT_EQ(error("m,n,k,us\n1,2,3,nan\n"), "t.csv, line 2: the time 'nan' is not a number above 0");
  EXPECT_EQ(error("m,n,k,us\n0,2,3,4\n"), "t.csv, line 2: column 'm' is 0; a size is at least 1");
  EXPECT_EQ(error("m,n,k\n1,2,3\n"), "t.csv: there is no column 'us'");
  EXPECT_EQ(error("a,b\n1,2\n"), "t.csv: no formula fits its columns");
  EXPECT_EQ(error("m,n,k,us,dtype\n1,2,3,4,fp7\n"),
            "t.csv, line 2: the formula for gemm does not know dtype 'fp7'");
  EXPECT_EQ(error("m,n,k,us\n1,2,\"3\"4,4\n"),
            "t.csv, line 2: text follows a quoted cell; a comma is missing");
  EXPECT_EQ(error("m,n,k,us\n1,2,\"3\n"), "t.csv, line 2: a quote is not closed");
}

}  // namespace
}  // namespace headroom
