// Two hosts from MPI's view: network namespaces of this machine with a slow link between them.
#include <gtest/gtest.h>

#include "base/json.h"
#include "support/ranks.h"

namespace headroom::testing {
namespace {

struct TwoHosts : ProgramTest {
  void SetUp() override {
    if (const std::string why = why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
    know_machine(1);
  }
  // Ten steps, 1.6 MB each.
  static Words train(const std::string& save) {
    return {HEADROOM_PROGRAM,
            "train",
            "mlp:hidden=512",
            "--train-size",
            "1000",
            "--test-size",
            "50",
            "--batch",
            "100",
            "--epochs",
            "1",
            "--save",
            save,
            "--threads",
            "1",
            "--json"};
  }
  Outcome on_two_hosts(const Words& options, const Words& words) const {
    Words all = {std::string(HEADROOM_SOURCE_DIR) + "/scripts/two-hosts"};
    for (const Words& list : {options, words}) all.insert(all.end(), list.begin(), list.end());
    return finish(start_any(all, {}));
  }
};

TEST_F(TwoHosts, TheLinkCarriesThePlansBytes) {
  const Outcome outcome = on_two_hosts({"--rate", "100mbit", "--delay", "1ms"}, train("far.st"));
  if (outcome.code == 77) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json ranks = Json::parse(outcome.out).at("ranks");
  EXPECT_EQ(ranks["planned_bytes"], ranks["counted_bytes"]);

  // Headers, acknowledgements and mpirun's own messages come on top.
  const std::size_t at = outcome.err.find("the link saw ");
  ASSERT_NE(at, std::string::npos) << outcome.err;
  const auto words = split(outcome.err.substr(at), ' ');
  for (const std::string& times : {words.at(3), words.at(5)}) {
    EXPECT_GT(std::stod(times), 0.999) << outcome.err;
    EXPECT_LT(std::stod(times), 1.08) << outcome.err;
  }
  // A step takes at least the time of its bytes, in both directions at once. The bucket allows a burst.
  const double least_ms = ranks["planned_bytes"].get<double>() * 8 / 100e6 * 1e3;
  EXPECT_GT(ranks["over_ranks"]["step_ms"]["mean"], 0.8 * least_ms) << ranks.dump(2);

  // With two ranks, sums are equal in any order: the same bits as on one host.
  ASSERT_EQ(run_in_ranks(2, train("near.st"), folder(), environment()).code, 0);
  EXPECT_TRUE(read_file(file("far.st")) == read_file(file("near.st")));
}

TEST_F(TwoHosts, SeveralRanksOnEach) {
  const Outcome outcome = on_two_hosts({"--rate", "1gbit", "--each", "2"}, train("w.st"));
  if (outcome.code == 77) GTEST_SKIP() << outcome.err;
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out).at("ranks").at("count"), 4);
}

TEST_F(TwoHosts, WithoutTheRightItSaysSo) {
  Words all = {"/bin/sh", "-c", "PATH=/nowhere exec /bin/bash \"$0\" -- true",
               std::string(HEADROOM_SOURCE_DIR) + "/scripts/two-hosts"};
  const Outcome outcome = finish(start_any(all, {}));
  EXPECT_EQ(outcome.code, 77);
  EXPECT_NE(outcome.err.find("skipped: there is no ip here"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace headroom::testing
