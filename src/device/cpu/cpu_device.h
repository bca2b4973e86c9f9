#pragma once

#include "device/device.h"

namespace headroom {

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads);  // sets the process's OpenMP thread count
  const Capabilities& capabilities() const override { return capabilities_; }
  Stream& stream() override { return stream_; }
  Stream& copy_stream() override { return stream_; }
  void upload(void* dst, const void* src, std::size_t bytes) override;
  void download(void* dst, const void* src, std::size_t bytes) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void zero(void* dst, std::size_t bytes) override;
  void upload_async(void* dst, const void* src, std::size_t bytes, Stream&) override {
    upload(dst, src, bytes);
  }
  void download_async(void* dst, const void* src, std::size_t bytes, Stream&) override {
    download(dst, src, bytes);
  }
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Captured> capture(const std::function<void()>&) override { return nullptr; }
  std::size_t free_bytes_now() const override;

 private:
  struct Immediate final : Stream {
    void synchronize() override {}
  };
  void* allocate_bytes(std::size_t bytes, bool on_host) override;
  void free_bytes(void* data, bool on_host) noexcept override;

  Capabilities capabilities_;
  Immediate stream_;
};

}  // namespace headroom
