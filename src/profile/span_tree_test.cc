#include "profile/span_tree.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using testing::add_span, testing::add_window;

TEST(SpanTree, FindsTheSpanAround) {
  Trace trace{.lanes = {{"main"}, {"loader 1"}, {"loader 2"}}};
  add_span(trace, 0, "run", 0, 100);             // 0
  add_span(trace, 0, "batch", 0, 40, 1);         // 1: begins with its parent
  add_span(trace, 0, "step", 10, 40, 2);         // 2
  add_span(trace, 0, "empty", 40, 40, 2);        // 3: at the end of its parent
  add_span(trace, 0, "batch", 40, 60, 1);        // 4: touches the one before
  add_span(trace, 0, "after", 100, 110);         // 5
  add_span(trace, 1, "load", 5, 50, 0);          // 6: another thread
  add_span(trace, 1, "lost parent", 60, 70, 3);  // 7
  add_span(trace, 2, "lost, too", 65, 66, 4);    // 8
  const TraceScope scope(trace);
  std::vector<int> parents;
  for (const PlacedSpan& placed : placed_spans(trace, scope)) parents.push_back(placed.parent);
  EXPECT_EQ(parents, (std::vector<int>{-1, 0, 1, 1, 0, -1, -1, -1, -1}));
}

TEST(SpanTree, ClipsToTheWindowsOfTheRank) {
  Trace trace{.lanes = {{"main"}, {"main", false, 1}}};
  add_window(trace, 0, 10, 20), add_window(trace, 0, 30, 40);
  add_span(trace, 0, "run", 0, 100);
  add_span(trace, 0, "before", 2, 10, 1);
  add_span(trace, 0, "in", 12, 15, 1);
  add_span(trace, 0, "empty", 13, 13, 2);
  add_span(trace, 0, "out of it", 18, 35, 1);
  add_span(trace, 1, "run", 0, 100);
  const TraceScope scope(trace);
  const std::vector<PlacedSpan> list = placed_spans(trace, scope);
  ASSERT_EQ(list.size(), 4u);
  EXPECT_EQ(list[0].ns, 20);
  EXPECT_EQ(list[1].ns, 3);
  EXPECT_EQ(list[2].ns, 0);
  EXPECT_EQ(list[2].parent, 1);
  EXPECT_EQ(list[3].ns, 7);
}

}  // namespace
}  // namespace headroom
