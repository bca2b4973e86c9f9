// docs/run-record.schema.json allows all that a machine of a record can hold.
#include <gtest/gtest.h>

#include "base/file.h"
#include "machine/machine.h"
#include "machine/machine_fields.h"
#include "schema_check.h"

namespace headroom::testing {
namespace {

Json schema_of_machines() {
  return Json::parse(read_file(HEADROOM_SOURCE_DIR "/docs/run-record.schema.json"))
      .at("properties")
      .at("machine");
}

std::vector<std::string> errors_of(const Json& machine) {
  std::vector<std::string> wrong;
  check_schema(schema_of_machines(), machine, "machine", wrong);
  return wrong;
}

Machine machine_with_every_field() {
  Machine m{.name = "all", .aliases = {"every"}, .title = "t", .kind = "cpu", .measured = true};
  for (const char* precision : machine_fields::kPrecisions)
    m.peak_flops[precision] = m.one_core_peak_flops[precision] = m.burst_flops[precision] =
        m.sustained_flops[precision] = 1e12;
  m.levels = {{"L1", 1e5, 4e11, 2e11}, {"memory", 1e10, 2e10, 1e10}};
  m.launch = {1e-6, 2e-6, 3e-6, 4e-6};
  m.team_s = {1e-6, 2e-6};
  m.host_link = {1e9, 1e9, 1e9, 1e9, 1e9};
  m.peer_bytes_per_s = 1e9;
  m.rank_link = {2, 1e-6, 1e9};
  m.compute_capability = 90, m.cores = 2, m.fp32_lanes = 16, m.vector_bytes = 32;
  m.clock_hz = {1e9, 2e9, 3e9};
  m.shared_bytes = m.register_bytes = 65536;
  m.power_w = 100, m.idle_w = 10;
  m.basis = {{"default", "published"}, {"cores", "measured"}};
  m.notes = {"a note"};
  return m;
}

TEST(RecordSchema, AllowsEveryFieldOfAMachine) {
  const Json machine = to_json(machine_with_every_field());
  EXPECT_EQ(machine_from_json(machine, "here").team_s.size(), 2u) << "the program reads it, too";
  EXPECT_TRUE(errors_of(machine).empty()) << fmt::format("{}", fmt::join(errors_of(machine), "\n"));
  const Json known = schema_of_machines().at("properties");
  for (const auto& [key, value] : machine.items()) EXPECT_TRUE(known.contains(key)) << key;
}

TEST(RecordSchema, ListsThePeaksOfMachineFiles) {
  const Json known = schema_of_machines().at("properties");
  for (const char* list : {"peak_flops", "one_core_peak_flops"}) {
    const Json& peaks = known.at(list).at("properties");
    EXPECT_EQ(peaks.size(), machine_fields::kPrecisions.size()) << list;
    for (const char* precision : machine_fields::kPrecisions)
      EXPECT_TRUE(peaks.contains(precision)) << list << " lacks " << precision;
  }
}

TEST(RecordSchema, RefusesOtherPeaks) {
  Json machine = to_json(machine_with_every_field());
  machine["peak_flops"]["int9"] = 1e12;
  machine["idle_w"] = 0;
  EXPECT_EQ(errors_of(machine), (std::vector<std::string>{"machine.peak_flops.int9 is not allowed",
                                                          "machine.idle_w is too small"}));
}

}  // namespace
}  // namespace headroom::testing
