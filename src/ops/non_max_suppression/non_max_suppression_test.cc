#include "ops/non_max_suppression/non_max_suppression.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace non_max_suppression_test {

constexpr double kAll = -std::numeric_limits<double>::infinity();

struct Limits {
  double most, overlap, score = kAll;
};

// The boxes that one image and class keep, by every kernel.
Values kept(const Values& boxes, const Values& scores, const Limits& limits, std::int64_t center = 0) {
  const auto n = static_cast<std::int64_t>(scores.size());
  const Case c{.tier = Tier::ci,
               .inputs = {{1, n, 4}, {1, 1, n}, {1}, {1}, {1}},
               .attrs = {{"bound", n}, {"center_point_box", center}},
               .dtypes = {{}, {}, DType::i64}};
  const Problem p = problem_of(operator_of("non_max_suppression"), c, DType::f32);
  Values first;
  bool seen = false;
  for (const Kernel& kernel : kernels_here(operator_of("non_max_suppression"))) {
    const auto r = run_kernel(kernel, p, {boxes, scores, {limits.most}, {limits.overlap}, {limits.score}});
    Values list;
    for (double k = 0; k < r.outputs[1][0]; ++k)
      list.push_back(r.outputs[0][static_cast<std::size_t>(3 * k + 2)]);
    if (seen) {
      EXPECT_EQ(list, first) << kernel.name;
    }
    first = list, seen = true;
  }
  return first;
}

// Boxes 0 and 1 share 9 of 11 columns, 2 stands apart.
const Values kThree = {0, 0, 10, 10, 0, 1, 10, 11, 20, 20, 30, 30};

TEST(NonMaxSuppression, ABoxThatOverlapsABetterOneGoes) {
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {3, 0.5}), (Values{1, 2}));
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {3, 0.9}), (Values{1, 2, 0}));
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {1, 0.9}), (Values{1}));
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {0, 0.9}), (Values{}));
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {3, 0.9, 0.6}), (Values{1, 2}));
  EXPECT_EQ(kept(kThree, {0.5, 0.9, 0.7}, {3, 0.9, 0.7}), (Values{1}))
      << "a score at the limit is not above it";
}

TEST(NonMaxSuppression, AnOverlapAtTheLimitIsAllowed) {
  EXPECT_EQ(kept({0, 0, 1, 2, 0, 0, 1, 1}, {0.9, 0.8}, {2, 0.5}), (Values{0, 1}));
  EXPECT_EQ(kept({0, 0, 1, 2, 0, 0, 1, 1}, {0.9, 0.8}, {2, 0.49}), (Values{0}));
}

TEST(NonMaxSuppression, OfEqualScoresTheFirstBoxWins) {
  EXPECT_EQ(kept(kThree, {0.5, 0.5, 0.5}, {3, 0.5}), (Values{0, 2}));
}

TEST(NonMaxSuppression, CornersInAnyOrderAndCenters) {
  EXPECT_EQ(kept({10, 10, 0, 0, 0, 11, 10, 1}, {0.5, 0.9}, {2, 0.5}), (Values{1}));
  EXPECT_EQ(kept({5, 5, 10, 10, 6, 5, 10, 10, 5, 5, 2, 2}, {0.5, 0.9, 0.8}, {3, 0.5}, 1), (Values{1, 2}));
}

TEST(NonMaxSuppression, BoxesWithoutAnAreaAndNanOverlapNothing) {
  const double nan = std::nan("");
  EXPECT_EQ(kept({5, 5, 5, 5, 5, 5, 5, 5, 0, 0, 10, 10}, {0.9, 0.8, 0.7}, {3, 0.0}), (Values{0, 1, 2}));
  EXPECT_EQ(kept({nan, nan, nan, nan, 0, 0, 10, 10}, {0.9, 0.8}, {3, 0.0}), (Values{0, 1}));
  EXPECT_EQ(kept(kThree, {nan, 0.9, 0.7}, {3, 0.9}), (Values{1, 2})) << "a score that is not a number";
}

TEST(NonMaxSuppression, RejectsBadRequests) {
  EXPECT_THROW(kept(kThree, {0.5, 0.9, 0.7}, {3, 1.5}), Error);
  const auto infer = operator_of("non_max_suppression").schema.infer;
  const TensorType boxes{{1, 6, 4}, DType::f32}, scores{{1, 2, 6}, DType::f32}, most{{1}, DType::i64},
      limit{Shape{}, DType::f32};
  const Attrs bound{{"bound", std::int64_t{6}}};
  EXPECT_EQ(infer({boxes, scores, most, limit, limit}, bound)[0], (TensorType{{12, 3}, DType::i64}));
  EXPECT_THROW(infer({boxes, scores, most, limit, limit}, {{"bound", std::int64_t{7}}}), Error);
  EXPECT_THROW(infer({boxes, scores, most, limit, limit}, {}), Error);
  EXPECT_THROW(infer({scores, boxes, most, limit, limit}, bound), Error);
  EXPECT_THROW(infer({boxes, scores, limit, limit, limit}, bound), Error);
  EXPECT_THROW(infer({boxes, scores, most, limit}, bound), Error);
}

}  // namespace non_max_suppression_test
}  // namespace headroom::testing
