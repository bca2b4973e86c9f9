#pragma once

namespace headroom::testing {

// Replaces the test program's operator new with one that counts, on every thread, while counting is on.
void start_counting_allocations();
long stop_counting_allocations();  // number since the start
long bytes_counted();              // of those, even if freed since

// The number of allocations `action` makes, on all threads.
template <class Action>
long count_allocations(Action&& action) {
  start_counting_allocations();
  action();
  return stop_counting_allocations();
}

}  // namespace headroom::testing
