#include "report/sampling.h"
#include "base/json.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

Sampled median(double seconds, int dropped, bool settled) {
  return {spread_of({seconds, seconds}), dropped, 1, settled, {}};
}

TEST(Sampling, JsonSaysWhatWasDropped) {
  const Json json = spread_json(median(0.25, 3, true));
  EXPECT_EQ(json.at("median"), 250.0);
  EXPECT_EQ(json.at("samples"), 2);
  EXPECT_EQ(json.at("dropped"), 3);
  EXPECT_EQ(json.at("settled"), true);
  EXPECT_EQ(spread_json(median(1, 0, false)).at("settled"), false);
}

TEST(Sampling, ALineOnlyIfThereIsSomethingToSay) {
  EXPECT_EQ(sampling_note({median(1, 0, true), Sampled{}}), "") << "not timed is not noisy";
  EXPECT_EQ(sampling_note({median(1, 1, true)}), "Dropped 1 disturbed sample.\n");
  EXPECT_EQ(sampling_note({median(1, 2, false), median(1, 1, true)}),
            "Dropped 3 disturbed samples. 1 of 2 medians is noisier than 2 %.\n");
}

}  // namespace
}  // namespace headroom
