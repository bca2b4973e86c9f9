#pragma once

namespace headroom::testing {

// The test program's operators new are replaced by ones that count while counting is on, on every thread.
void start_counting_allocations();
long stop_counting_allocations();  // how many since the start
long bytes_counted();              // of those, freed since or not

// How many allocations `action` makes, its own thread's and all others'.
template <class Action>
long count_allocations(Action&& action) {
  start_counting_allocations();
  action();
  return stop_counting_allocations();
}

}  // namespace headroom::testing
