#include "profile/gpu_occupancy.h"

#include <gtest/gtest.h>

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>

#include <random>
#endif

namespace headroom {
namespace {

Trace::Kernel launch_of(int threads, int registers, std::int64_t static_shared = 0,
                        std::int64_t dynamic_shared = 0) {
  Trace::Kernel kernel;
  kernel.block = {threads, 1, 1};
  kernel.registers = registers;
  kernel.static_shared = static_shared, kernel.dynamic_shared = dynamic_shared;
  return kernel;
}

KernelOccupancy on_h200(const Trace::Kernel& kernel) { return occupancy_of(kernel, sm_limits(90).value()); }

TEST(GpuOccupancy, KnownLaunchesOnAnH200) {
  const KernelOccupancy full = on_h200(launch_of(256, 32));
  EXPECT_EQ(full.blocks, 8);
  EXPECT_EQ(full.warps, 64);
  EXPECT_DOUBLE_EQ(full.percent, 100);
  EXPECT_EQ(full.limiter, "registers, warps") << "32 registers each are just all of them";

  const KernelOccupancy heavy = on_h200(launch_of(128, 168));  // 5376 per warp: 3 in each of four parts
  EXPECT_EQ(heavy.blocks, 3);
  EXPECT_DOUBLE_EQ(heavy.percent, 100 * 12.0 / 64);
  EXPECT_EQ(heavy.limiter, "registers");

  const KernelOccupancy tiled = on_h200(launch_of(384, 24, 0, 100'000));  // 101,120 bytes with the reserve
  EXPECT_EQ(tiled.blocks, 2);
  EXPECT_EQ(tiled.warps, 24);
  EXPECT_EQ(tiled.limiter, "shared memory");

  const KernelOccupancy tiny = on_h200(launch_of(20, 16));  // a warp each
  EXPECT_EQ(tiny.blocks, 32);
  EXPECT_DOUBLE_EQ(tiny.percent, 50);
  EXPECT_EQ(tiny.limiter, "blocks");
}

TEST(GpuOccupancy, UnitsCount) {
  EXPECT_EQ(on_h200(launch_of(128, 33)).blocks, 12) << "33 registers take the room of 40";
  EXPECT_EQ(on_h200(launch_of(32, 120)).blocks, 16) << "17 warps' registers, but 4 in each of four parts";
  EXPECT_EQ(on_h200(launch_of(32, 8, 0, 6272)).blocks, 32) << "7,296 bytes with the reserve: 32 of 233,472";
  EXPECT_EQ(on_h200(launch_of(32, 8, 0, 6273)).blocks, 31) << "rounded up to 128";
  EXPECT_EQ(on_h200(launch_of(1024, 128)).blocks, 0) << "cannot be launched";
  EXPECT_EQ(on_h200(launch_of(0, 0)).blocks, 32);
}

TEST(GpuOccupancy, KnowsOtherGpus) {
  EXPECT_EQ(sm_limits(75)->warps, 32);
  EXPECT_EQ(sm_limits(89)->blocks, 24);
  EXPECT_EQ(sm_limits(80)->shared_bytes, 164 * 1024);
  EXPECT_FALSE(sm_limits(52));
  EXPECT_FALSE(sm_limits(0));
}

#if __has_include(<cuda_occupancy.h>)
// NVIDIA's own calculator, with the largest share of the memory as shared memory.
int blocks_by_nvidia(const Trace::Kernel& kernel, int capability) {
  const SmLimits limits = sm_limits(capability).value();
  cudaOccDeviceProp device;
  device.computeMajor = capability / 10, device.computeMinor = capability % 10;
  device.maxThreadsPerBlock = 1024, device.maxThreadsPerMultiprocessor = 32 * limits.warps;
  device.regsPerBlock = device.regsPerMultiprocessor = int(limits.registers);
  device.warpSize = 32, device.numSms = 100;
  device.sharedMemPerMultiprocessor = std::size_t(limits.shared_bytes);
  device.reservedSharedMemPerBlock = std::size_t(limits.reserved_bytes);
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerBlockOptin = std::size_t(limits.shared_bytes - limits.reserved_bytes);
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = 1024, function.numRegs = kernel.registers;
  function.sharedSizeBytes = std::size_t(kernel.static_shared);
  function.partitionedGCConfig = PARTITIONED_GC_OFF;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = device.sharedMemPerBlockOptin - function.sharedSizeBytes;
  function.numBlockBarriers = 0;
  cudaOccDeviceState state;
  state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
  cudaOccResult result;
  const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
      &result, &device, &function, &state, kernel.block[0], std::size_t(kernel.dynamic_shared));
  return error == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -int(error);
}

TEST(GpuOccupancy, AgreesWithNvidiasCalculator) {
  std::mt19937 random(5);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (const int capability : {70, 75, 80, 86, 89, 90, 100, 120})
    for (int trial = 0; trial < 2000; ++trial) {
      const Trace::Kernel kernel =
          launch_of(pick(1, 1024), pick(1, 255), pick(0, 3) * 4000,
                    pick(0, 1) * pick(0, int(sm_limits(capability)->shared_bytes) - 14'000));
      ASSERT_EQ(occupancy_of(kernel, sm_limits(capability).value()).blocks,
                blocks_by_nvidia(kernel, capability))
          << "sm_" << capability << ", " << kernel.block[0] << " threads, " << kernel.registers
          << " registers, " << kernel.static_shared << " + " << kernel.dynamic_shared << " bytes";
    }
}
#endif

}  // namespace
}  // namespace headroom
