#include "report/machine_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"

namespace headroom {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST(MachineTable, ListsOldestFirst) {
  const Machine machines[] = {find_machine("h200"), find_machine("p100"), find_machine("k80")};
  const std::string text = machine_sheet(machines).text();
  EXPECT_LT(text.find("k80"), text.find("p100-pcie"));
  EXPECT_LT(text.find("p100-pcie"), text.find("h200"));
  EXPECT_TRUE(contains(text, "19.1 T")) << "half precision of the vector units";
  EXPECT_TRUE(contains(text, "4.80 TB/s"));
}

TEST(MachineTable, ThePageTellsFiguresAndWhatTheyRestOn) {
  const std::string page = machine_page(find_machine("h200"));
  EXPECT_TRUE(contains(page, "capacity, bandwidth")) << page;
  EXPECT_TRUE(contains(page, "measured, computed")) << "of L2\n" << page;
  EXPECT_TRUE(contains(machine_page(find_machine("h100-pcie")), "51.0 TFLOP/s          25.5  assumed"))
      << machine_page(find_machine("h100-pcie"));
  for (const char* part : {"66.9 TFLOP/s", "13.9", "4.80 TB/s", "64.0 GB/s", "2.40 us", "sources", "9.0"})
    EXPECT_TRUE(contains(page, part)) << part << "\n" << page;
  EXPECT_FALSE(contains(page, "one core"));
}

TEST(MachineTable, ThePageHoldsWhatElseWasMeasured) {
  Machine machine = find_machine("h200");
  machine.launch.graph_node_s = 1.13e-6;
  machine.host_link.upload = 55.2e9;
  machine.team_s = {1.3e-6, 2.7e-6};
  const std::string page = machine_page(machine);
  for (const char* part : {"within a graph", "1.13 us", "upload, pinned", "55.2 GB/s", "waking 2 threads",
                           "1.30 us", "waking 4 threads", "2.70 us"})
    EXPECT_TRUE(contains(page, part)) << part << "\n" << page;
}

TEST(MachineTable, TheDrawingFitsATerminalAndNamesEveryRoof) {
  for (const char* name : {"k80", "v100-sxm2", "h200", "rtx4090", "b200", "l40s"}) {
    const Machine machine = find_machine(name);
    const std::string text = draw_roofline(machine);
    const auto lines = split(text, '\n');
    EXPECT_LE(lines.size(), 22u);
    for (const std::string& line : lines) EXPECT_LE(line.size(), 90u) << line;
    for (const auto& [precision, rate] : machine.peak_flops)
      EXPECT_TRUE(contains(text, precision)) << name << " " << precision << "\n" << text;
    for (const Machine::Level& level : machine.levels)
      EXPECT_EQ(contains(text, level.name), level.bytes_per_s > 0) << level.name << "\n" << text;
  }
}

}  // namespace
}  // namespace headroom
