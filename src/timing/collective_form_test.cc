#include <gtest/gtest.h>

#include "base/testing/bad_input.h"
#include "base/text.h"
#include "timing/forms.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

double exchange_seconds(const std::string& cells, const std::string& machine) {
  const TimingRow row =
      rows_of(parse_timing_table("op,gpus,bytes\n" + cells + "\n", "t"), collective_form(), false).front();
  return fastest(*collective_form().prepare(row, find_machine(machine), {}),
                 starting_values(collective_form().constants(row.group)))
      .seconds;
}

std::string exchange_choice(const std::string& cells, const std::string& machine) {
  const TimingRow row =
      rows_of(parse_timing_table("op,gpus,bytes\n" + cells + "\n", "t"), collective_form(), false).front();
  const auto prepared = collective_form().prepare(row, find_machine(machine), {});
  const auto constants = starting_values(collective_form().constants(row.group));
  return prepared->explain(fastest(*prepared, constants).candidate, constants).choice;
}

TEST(CollectiveForm, SmallMessagesCostStepsAndLargeOnesBytes) {
  EXPECT_NEAR(exchange_seconds("all_reduce,4,512", "h200"), exchange_seconds("all_reduce,4,1024", "h200"),
              1e-7);
  EXPECT_GT(exchange_seconds("all_reduce,8,512", "h200"), exchange_seconds("all_reduce,4,512", "h200"));
  const double large = exchange_seconds("all_gather,4,536870912", "h200");
  EXPECT_NEAR(exchange_seconds("all_gather,4,1073741824", "h200") / large, 2, 0.1);
  EXPECT_GT(exchange_seconds("all_reduce,4,536870912", "h200"), 1.5 * large);
}

// Eight GPUs whose NVLink switch adds up: 2.041 ms were published for 512 MiB on H200. The ring of A100 must
// carry nearly twice the bytes of one message.
TEST(CollectiveForm, LateSwitchesReduce) {
  const std::string large = "all_reduce,8,536870912";
  EXPECT_NEAR(exchange_seconds(large, "h200") * 1e3, 2.041, 0.05);
  EXPECT_EQ(exchange_choice(large, "h200"), "reduction in the switch");
  EXPECT_EQ(exchange_choice(large, "b200"), "reduction in the switch");
  EXPECT_EQ(exchange_choice(large, "a100-80gb"), "protocol for large messages");
  EXPECT_EQ(exchange_choice(large, "l40s"), "protocol for large messages");
  EXPECT_EQ(exchange_choice("all_reduce,4,536870912", "h200"), "protocol for large messages");
  EXPECT_EQ(exchange_choice("all_gather,8,536870912", "h200"), "protocol for large messages");
  EXPECT_EQ(exchange_choice("all_reduce,8,65536", "h200"), "protocol for middle messages");
}

TEST(CollectiveForm, ASharedBusSlowsDownWithItsUsers) {
  const double two = exchange_seconds("all_gather,2,134217728", "l40s");
  EXPECT_GT(exchange_seconds("all_gather,4,134217728", "l40s"), 4 * two);
  EXPECT_LT(exchange_seconds("all_gather,4,134217728", "a100-80gb"),
            2 * exchange_seconds("all_gather,2,134217728", "a100-80gb"));
  // More than eight GPUs stand on several buses.
  const double eight = exchange_seconds("all_gather,8,134217728", "l40s");
  EXPECT_GT(exchange_seconds("all_gather,16,134217728", "l40s"), eight);
  EXPECT_LT(exchange_seconds("all_gather,16,134217728", "l40s"), 2 * eight);
}

// Four boards of which each two share a bridge exchange over the bus.
TEST(CollectiveForm, ABridgeJoinsTwoBoards) {
  const double two = exchange_seconds("all_gather,2,134217728", "h100-pcie");
  EXPECT_NEAR(exchange_seconds("all_gather,2,134217728", "h100-sxm") / two, 300.0 / 450, 0.1);
  EXPECT_GT(exchange_seconds("all_gather,4,134217728", "h100-pcie"), 10 * two);
}

TEST(CollectiveForm, RejectsWhatIsNoExchange) {
  testing::expect_rejected([] { exchange_seconds("all_reduce,1,512", "h200"); }, {"line 2", "'gpus' is 1"});
  testing::expect_rejected([] { exchange_seconds("all_reduce,0,512", "h200"); }, {"line 2", "'gpus' is 0"});
  testing::expect_rejected([] { exchange_seconds("all_reduce,73,512", "h200"); },
                           {"line 2", "'gpus' is 73", "at most 72"});
  testing::expect_rejected([] { exchange_seconds("broadcast,2,512", "h200"); }, {"line 2", "broadcast"});
  Machine alone = find_machine("h200");
  alone.peer_bytes_per_s = 0, alone.host_link.bytes_per_s = 0;
  const TimingRow row{.line = 2, .group = "all_reduce", .sizes = {2, 512}};
  testing::expect_rejected([&] { collective_form().prepare(row, alone, {}); }, {"h200", "link"});
}

}  // namespace
}  // namespace headroom
