#include "train/forecast.h"

#include <gtest/gtest.h>

#include "models/zoo.h"

namespace headroom {
namespace {

Machine card(double memory) {
  Machine m;
  m.name = "card", m.kind = "gpu", m.compute_capability = 80, m.cores = 10;
  m.peak_flops = {{"fp32", 1e13}, {"fp64", 1e12}};
  m.levels = {{.name = "memory", .bytes = memory, .bytes_per_s = 1e12}};
  return m;
}

Forecast of(const std::string& model, double memory, std::int64_t batch, Mode mode = Mode::train) {
  return forecast(find_net(model), card(memory), {}, mode, batch);
}

TEST(Forecast, NamesTheLargestBatchThatFits) {
  for (const char* model : {"lenet5", "mlp:hidden=100", "squeezenet"})
    for (const Mode mode : {Mode::train, Mode::eval}) {
      SCOPED_TRACE(model);
      const double memory = 1.1 * of(model, 0, 7, mode).memory_needed;
      const Forecast large = of(model, memory, 5000, mode);
      ASSERT_FALSE(large.fits());
      ASSERT_GE(large.largest_batch, 7);
      EXPECT_TRUE(of(model, memory, large.largest_batch, mode).fits());
      EXPECT_FALSE(of(model, memory, large.largest_batch + 1, mode).fits());
    }
}

TEST(Forecast, SomeNetworksFitWithNoBatch) {
  const Forecast f = of("mlp:hidden=100", 1000, 64);
  EXPECT_FALSE(f.fits());
  EXPECT_EQ(f.largest_batch, 0);
}

TEST(Forecast, UnknownMemoryIsNoLimit) { EXPECT_TRUE(of("lenet5", 0, 100000).fits()); }

}  // namespace
}  // namespace headroom
