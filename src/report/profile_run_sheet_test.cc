#include "report/profile_run_sheet.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/testing/bad_input.h"

namespace headroom {
namespace {

const std::vector<RunFact> kFacts = {{"CPU", "type", "Neoverse-V1"},
                                     {"CPU", "L2 cache", "1024", "KiB"},
                                     {"process", "command", "headroom profile lenet5"}};

TEST(ProfileRunSheet, OneRowPerFact) {
  const Sheet sheet = run_sheet(kFacts);
  EXPECT_EQ(sheet.csv(),
            "group,name,value,unit\nCPU,type,Neoverse-V1,\nCPU,L2 cache,1024,KiB\n"
            "process,command,headroom profile lenet5,\n");
  EXPECT_EQ(sheet.name(), "run");
  EXPECT_EQ(run_sheet({}).rows(), 0u);
}

TEST(ProfileRunSheet, FactsSurviveAFile) {
  EXPECT_EQ(facts_from_json(Json::parse(to_json(kFacts).dump()), "facts.json"), kFacts);
}

TEST(ProfileRunSheet, OtherJsonIsRejectedByName) {
  const auto reading = [](const char* text) {
    return [text] { facts_from_json(Json::parse(text), "p/facts.json"); };
  };
  testing::expect_rejected(reading("{}"), {"p/facts.json", "list of facts"});
  testing::expect_rejected(reading("[3]"), {"p/facts.json", "fact 0", "'group'"});
  testing::expect_rejected(reading(R"([{"group":"a","name":"b","value":3}])"), {"fact 0", "'value'", "text"});
  testing::expect_rejected(reading(R"([{"group":"a","name":"b","value":"c","unit":1}])"), {"'unit'"});
}

}  // namespace
}  // namespace headroom
