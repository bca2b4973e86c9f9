#include "profile/cpu_counters.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "device/device.h"
#include "profile/counter_recorder.h"

namespace headroom {
namespace {

double own_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// Computes until this thread has had its core for so long, and says how long it was.
double burn(double seconds) {
  const double begin = own_seconds();
  while (own_seconds() - begin < seconds) {
  }
  return own_seconds() - begin;
}

// Writes to pages that are not mapped yet.
void touch_pages(std::size_t pages) {
  const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory = mmap(nullptr, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, pages * size, MADV_NOHUGEPAGE);
  for (std::size_t p = 0; p < pages; ++p) static_cast<volatile char*>(memory)[p * size] = 1;
  munmap(memory, pages * size);
}

TEST(CpuCounters, SetsAndCountersAreNamedTogether) {
  EXPECT_EQ(cpu_counters_named("system,cycles,task-clock"),
            (std::vector<std::string>{"task-clock", "page-faults", "context-switches", "cpu-migrations",
                                      "cycles"}));
  for (const CpuCounterSet& set : cpu_counter_sets())
    EXPECT_EQ(cpu_counters_named(set.name), set.counters) << "a set names unknown counters, or one twice";
}

TEST(CpuCounters, UnknownNamesAreRejected) {
  try {
    cpu_counters_named("seed,page-fault");
    FAIL() << "it was accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no counter 'page-fault'"), std::string::npos);
  }
}

TEST(CpuCounters, TimeOfAllThreadsIsCounted) {
  std::atomic<int> phase = 0;
  double other_s = 0;
  std::thread other([&] {
    while (phase == 0) std::this_thread::yield();
    other_s = burn(0.04);
    phase = 2;
    while (phase != 3) usleep(100);
  });
  const CpuCounting counting({"task-clock"});
  if (counting.names().empty()) {
    phase = 3, other.join();
    GTEST_SKIP() << counting.notes().at(0);
  }
  std::vector<double> before(1), after(1);
  counting.read(before);
  phase = 1;
  const double own_s = burn(0.06);
  while (phase != 2) usleep(100);
  counting.read(after);
  phase = 3, other.join();
  const double counted_s = 1e-9 * (after[0] - before[0]);
  EXPECT_GE(counted_s, 0.98 * (own_s + other_s));
  EXPECT_LE(counted_s, own_s + other_s + 0.05) << "yielding and reading take some";
}

TEST(CpuCounters, FaultsAreThoseOfThePagesTouched) {
  const CpuCounting counting({"page-faults"});
  if (counting.names().empty()) GTEST_SKIP() << counting.notes().at(0);
  std::vector<double> before(1), after(1);
  counting.read(before);
  touch_pages(500);
  counting.read(after);
  EXPECT_GE(after[0] - before[0], 500);
  EXPECT_LE(after[0] - before[0], 520);
}

TEST(CpuCounters, WhatCannotBeCountedIsSaid) {
  std::vector<std::string> all;
  std::size_t missing = 0;
  for (const CpuCounter& counter : cpu_counters()) {
    all.emplace_back(counter.name);
    missing += !why_no_cpu_counter(counter).empty();
  }
  const CpuCounting counting(all);
  EXPECT_EQ(counting.notes().size(), missing);
  EXPECT_EQ(counting.names().size(), all.size() - missing);
}

TEST(CounterRecorder, EachStepHasItsOwnCounts) {
  const auto cpu = open_device("cpu", 1);
  CounterRecorder recorder({"page-faults"}, 2);
  if (!recorder.notes().empty()) GTEST_SKIP() << recorder.notes()[0];
  recorder.open();
  for (int run = 0; run < 3; ++run) {
    recorder.begin(0, cpu->stream());
    touch_pages(100);
    recorder.end(0, cpu->stream());
    recorder.begin(1, cpu->stream());
    burn(0.002);
    recorder.end(1, cpu->stream());
  }
  recorder.close();
  Measurement m{.steps = std::vector<Measurement::Step>(2)};
  recorder.add_to(m);
  EXPECT_GE(m.steps[0].counters.at("page-faults"), 99) << "the mean of a run";
  EXPECT_LE(m.steps[0].counters.at("page-faults"), 110);
  EXPECT_LE(m.steps[1].counters.at("page-faults"), 10);
  EXPECT_GE(m.steps[1].counters.at(CounterRecorder::kTime), 0.0015);
}

TEST(CounterRecorder, WarmUpDoesNotCount) {
  const auto cpu = open_device("cpu", 1);
  CounterRecorder recorder({"page-faults"}, 1);
  if (!recorder.notes().empty()) GTEST_SKIP() << recorder.notes()[0];
  const auto run = [&](std::size_t pages) {
    recorder.begin(0, cpu->stream());
    touch_pages(pages);
    recorder.end(0, cpu->stream());
  };
  run(3000);  // warm-up
  recorder.open();
  run(100);
  recorder.close();
  run(3000);  // an evaluation between the steps that count
  recorder.open();
  run(100);
  recorder.close();
  Measurement m{.steps = std::vector<Measurement::Step>(1)};
  recorder.add_to(m);
  EXPECT_GE(m.steps[0].counters.at("page-faults"), 99);
  EXPECT_LE(m.steps[0].counters.at("page-faults"), 110) << "the mean of the two runs that count";
}

TEST(CounterRecorder, APairThatWasInterruptedDoesNotRaiseTheCostOfReading) {
  int readings = 0;
  double now = 0;
  const auto read = [&](std::vector<double>& totals) {
    now += readings == 7 ? 1000 : 5 + readings % 2;  // the eighth, second of its pair, waited for its core
    ++readings;
    totals = {now, 2.0 * readings};
  };
  EXPECT_EQ(cost_of_reading(2, read), (std::vector<double>{6, 2}));
  EXPECT_GE(readings, 32);
}

}  // namespace
}  // namespace headroom
