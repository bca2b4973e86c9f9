#pragma once

#include "device/device.h"

namespace headroom {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads);  // sets the process's OpenMP thread count
  const Capabilities& capabilities() const override { return capabilities_; }
  Stream& stream() override { return stream_; }
  void upload(void* dst, const void* src, std::size_t bytes) override;
  void download(void* dst, const void* src, std::size_t bytes) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void zero(void* dst, std::size_t bytes) override;

 private:
  struct Immediate final : Stream {
    void synchronize() override {}
  };
  void* allocate_bytes(std::size_t bytes) override;
  void free_bytes(void* data) noexcept override;

  Capabilities capabilities_;
  Immediate stream_;
};

}  // namespace headroom
