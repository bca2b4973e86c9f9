#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "base/json.h"
#include "device/device.h"
#include "machine/cuda/library_product.h"
#include "machine/roofline.h"
#include "machine/timing.h"

namespace headroom {
namespace {

class CudaRoofline : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
  }
  std::unique_ptr<Device> gpu_;
};

TEST_F(CudaRoofline, MeasuresEveryCeiling) {
  const Machine machine = measure_gpu(*gpu_, 2);
  EXPECT_EQ(machine.name, "here-gpu");
  EXPECT_EQ(machine.kind, "gpu");
  EXPECT_EQ(machine.title, gpu_->capabilities().name);
  EXPECT_EQ(machine.memory().name, "memory");
  EXPECT_GT(machine.memory().bytes_per_s, 1e11);
  for (const char* precision : {"fp64", "fp32", "tf32", "fp16", "bf16"})
    EXPECT_GT(machine.peak_flops.at(precision), 1e11) << precision;
  EXPECT_GT(machine.peak_flops.at("fp16"), machine.peak_flops.at("fp32"));
  if (machine.compute_capability >= 80) {
    EXPECT_GE(machine.peak_flops.at("int8"), 2 * machine.peak_flops.at("fp16"));
    EXPECT_EQ(machine.basis_of("peak_flops.int8"), "computed");
  }
  EXPECT_EQ(machine.basis_of("peak_flops.fp16"), "measured");
  EXPECT_GT(machine.levels.front().bytes_per_s, machine.memory().bytes_per_s);
  EXPECT_GT(machine.launch.host_s, 1e-7);
  EXPECT_LT(machine.launch.host_s, 1e-3);
  EXPECT_GT(machine.host_link.bytes_per_s, 1e9);
  for (double figure :
       {machine.host_link.upload, machine.host_link.upload_pageable, machine.host_link.download,
        machine.host_link.download_pageable, machine.launch.graph_node_s, machine.launch.wait_s,
        machine.launch.synchronize_s, machine.burst_flops.at("fp32"), machine.sustained_flops.at("tf32")})
    EXPECT_GT(figure, 0);
  EXPECT_LT(machine.launch.graph_node_s, machine.launch.host_s);
  EXPECT_EQ(to_json(machine_from_json(to_json(machine), "x")), to_json(machine));
}

TEST_F(CudaRoofline, HereIsMeasuredOnceAndInAHurry) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("headroom_gpu_{}", ::getpid());
  std::filesystem::remove_all(folder);
  ::setenv("HEADROOM_CACHE", folder.c_str(), 1);
  gpu_->allocate(1);  // the driver initialises
  const double begin = now_s();
  const Machine first = here_gpu_or_measure(*gpu_);
  EXPECT_LT(now_s() - begin, 5);
  EXPECT_EQ(to_json(here_gpu_or_measure(*gpu_)), to_json(first));
  EXPECT_EQ(to_json(find_machine("here-gpu")), to_json(first));
  ::unsetenv("HEADROOM_CACHE");
  std::filesystem::remove_all(folder);
}

TEST_F(CudaRoofline, NonsenseIsRefused) {
  EXPECT_THROW(measure_gpu(*gpu_, 0), Error);
  EXPECT_THROW(measure_gpu(*open_device("cpu"), 1), Error);
}

TEST_F(CudaRoofline, LibraryProductsRunInEveryPrecision) {
  cuda::Stopwatch watch(*gpu_);
  for (const cuda::Unit unit :
       {cuda::Unit::fp64_tensor, cuda::Unit::fp32, cuda::Unit::tf32, cuda::Unit::fp16, cuda::Unit::bf16}) {
    const auto product = cuda::library_product(unit, 1024, watch);
    if (!product) GTEST_SKIP() << "no cuBLASLt here";
    EXPECT_EQ(product->flops(), 2.0 * 1024 * 1024 * 1024);
    EXPECT_GT(watch.least_seconds(0.01, [&] { product->launch(); }), 1e-7);
  }
}

}  // namespace
}  // namespace headroom
