// The counters of a GPU against kernels of known work.
#include "profile/cuda/cupti_ranges.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "base/error.h"
#include "device/cuda/cuda_device.h"
#include "ops/cuda/gemm.h"
#include "profile/testing/counter_file.h"
#include "profile/testing/known_work.h"

namespace headroom {
namespace {

class CudaRanges : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    device_ = open_device("cuda");
    x_ = device_->allocate(kCount * sizeof(float)), y_ = device_->allocate(kCount * sizeof(float));
    device_->zero(x_.data(), x_.bytes()), device_->zero(y_.data(), y_.bytes());
    axpy(), lanes(32), device_->stream().synchronize();  // loads the code
  }
  void axpy() {
    testing::axpy(device_->stream(), kCount, 2, static_cast<const float*>(x_.data()),
                  static_cast<float*>(y_.data()));
  }
  void lanes(int count) {
    testing::fma_in_lanes(device_->stream(), kBlocks, count, static_cast<float*>(y_.data()));
  }

  // Counters of each range, by name. Skips aloud where this user may not count.
  using Counters = std::map<std::string, double>;
  bool count(const std::vector<std::string>& names, const std::vector<std::function<void()>>& ranges,
             std::vector<Counters>& result) {
    std::unique_ptr<RangeCounter> counter;
    try {
      counter = make_cupti_ranges(kDevice, names);
    } catch (const Error& error) {
      why_not_ = error.what();
      return false;
    }
    result.resize(ranges.size());
    const CounterPasses& all = counter->passes();
    for (std::size_t pass = 0; pass < all.passes.size(); ++pass) {
      counter->prepare(pass, ranges.size(), RangeMode::pushed);
      for (bool complete = false; !complete;) {
        counter->start();
        for (std::size_t r = 0; r < ranges.size(); ++r) {
          counter->push(r);
          ranges[r]();
          device_->stream().synchronize();
          counter->pop();
        }
        complete = counter->stop();
      }
      for (const RangeValues& range : counter->read())
        for (std::size_t n = 0; n < range.values.size(); ++n)
          result.at(range.range)[all.passes[pass].counters[n]] = range.values[n];
    }
    EXPECT_EQ(counter->dropped(), 0u);
    return true;
  }

  static constexpr std::int64_t kCount = std::int64_t{1} << 26;
  static constexpr int kBlocks = 512, kDevice = 0;
  std::unique_ptr<Device> device_;
  Buffer x_, y_;
  std::string why_not_;
};

TEST_F(CudaRanges, LoadsStoresAndOperationsAreExact) {
  std::vector<Counters> c;
  if (!count({"global-loads", "global-stores", "fp32-fma", "dram-read"},
             {[&] { axpy(); }, [&] { axpy(), axpy(); }}, c))
    GTEST_SKIP() << why_not_;
  for (const int times : {1, 2}) {
    const Counters& range = c[static_cast<std::size_t>(times) - 1];
    EXPECT_EQ(range.at("global-loads"), times * 2.0 * kCount / 32);
    EXPECT_EQ(range.at("global-stores"), times * 1.0 * kCount / 32);
    EXPECT_EQ(range.at("fp32-fma"), times * 1.0 * kCount);
  }
  const double bytes = 2.0 * kCount * sizeof(float);  // of one launch: the caches may keep some for a second
  EXPECT_NEAR(c[0].at("dram-read"), bytes, 0.02 * bytes);
}

TEST_F(CudaRanges, OnlyActiveLanesCount) {
  std::vector<Counters> c;
  if (!count({"fp32-fma", "lane-instructions"}, {[&] { lanes(32); }, [&] { lanes(5); }}, c))
    GTEST_SKIP() << why_not_;
  const double warps = kBlocks * 256 / 32;
  EXPECT_EQ(c[0].at("fp32-fma"), warps * 32 * testing::kFmasPerLane);
  EXPECT_EQ(c[1].at("fp32-fma"), warps * 5 * testing::kFmasPerLane);
  EXPECT_LT(c[1].at("lane-instructions") / c[1].at("sass-instructions"),
            c[0].at("lane-instructions") / c[0].at("sass-instructions"));
}

// The sizes are multiples of every tile, so that no operation is in vain.
TEST_F(CudaRanges, TensorCoresCountTwoOperationsPerMultiplyAdd) {
  constexpr std::int64_t m = 1024, n = 2048, k = 4096;
  const Buffer workspace = device_->allocate(std::size_t{32} << 20);
  const cudaStream_t stream = static_cast<CudaStream&>(device_->stream()).handle();
  for (const auto& [dtype, counter] : {std::pair(DType::bf16, "tensor-bf16"), {DType::f32, "tensor-tf32"}}) {
    const cuda::GemmPlan product(
        {.dtype = dtype, .tf32 = true, .m = m, .n = n, .k = k, .lda = k, .ldb = n, .ldc = n},
        workspace.bytes());
    ASSERT_TRUE(product.good()) << counter;
    const auto run = [&] {
      auto* const memory = static_cast<float*>(x_.data());
      product.run(stream, memory, memory + m * k, y_.data(), nullptr, workspace.data());
    };
    run(), device_->stream().synchronize();  // loads the code
    std::vector<Counters> c;
    if (!count({counter}, {run, [&] { run(), run(); }}, c)) GTEST_SKIP() << why_not_;
    const double expected = 2.0 * m * n * k;
    EXPECT_EQ(c[0].at(counter), expected)
        << counter << " counts " << c[0].at(counter) / (1.0 * m * n * k) << " for a multiply-add";
    EXPECT_EQ(c[1].at(counter), 2 * c[0].at(counter));
  }
}

// So large that what the L2 cache keeps is less than the tolerance.
TEST_F(CudaRanges, DramBytesAreThoseOfACopy) {
  constexpr std::size_t bytes = std::size_t{4} << 30;
  if (device_->free_bytes_now() < 5 * bytes / 2) GTEST_SKIP() << "the GPU has less than 10 GB free";
  const Buffer from = device_->allocate(bytes), to = device_->allocate(bytes);
  device_->zero(from.data(), bytes);
  std::vector<Counters> c;
  if (!count({"dram-read", "dram-write"}, {[&] { device_->copy(to.data(), from.data(), bytes); }}, c))
    GTEST_SKIP() << why_not_;
  EXPECT_NEAR(c[0].at("dram-read"), double(bytes), 0.02 * double(bytes));
  EXPECT_NEAR(c[0].at("dram-write"), double(bytes), 0.02 * double(bytes));
}

// For tests on machines without a GPU, see testing/counter_file.h.
TEST_F(CudaRanges, RecordsWhatOtherMachinesEvaluate) {
  const char* const path = std::getenv(testing::kRecordCounters);
  if (path == nullptr) GTEST_SKIP() << testing::kRecordCounters << " names no file to write";
  const auto counter = make_cupti_ranges(kDevice, {"issued", "global-loads", "global-stores", "dram-read"});
  const CounterPasses& all = counter->passes();
  ASSERT_EQ(all.runs(), 1) << all.text();
  counter->prepare(0, 1, RangeMode::pushed);
  counter->start();
  counter->push(0);
  axpy(), device_->stream().synchronize();
  counter->pop();
  ASSERT_TRUE(counter->stop());
  const std::vector<RangeValues> values = counter->read();
  ASSERT_EQ(values.size(), 1u);
  const testing::CounterFile file{all.chip, all.passes[0].metrics, values[0].values, counter->image()};
  EXPECT_LT(file.image.size(), testing::kMaxCounterFile);
  testing::write_counter_file(file, path);
}

TEST_F(CudaRanges, TheSeedSetTakesTheStepsThatTheListPromises) {
  std::unique_ptr<RangeCounter> counter;
  try {
    counter = make_cupti_ranges(kDevice, gpu_counters_named("seed"));
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  EXPECT_EQ(counter->passes().runs(), 2) << counter->passes().text();
}

}  // namespace
}  // namespace headroom
