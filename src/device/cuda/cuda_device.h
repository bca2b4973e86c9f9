#pragma once

#include <cuda_runtime_api.h>

#include "device/device.h"

namespace headroom {

class CudaStream final : public Stream {
 public:
  explicit CudaStream(int priority = 0);  // CUDA's order: the lowest number goes first
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  void synchronize() override;
  cudaStream_t handle() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(int index, Capabilities capabilities);
  ~CudaDevice() override;
  const Capabilities& capabilities() const override { return capabilities_; }
  int index() const { return index_; }  // CUDA's index
  Stream& stream() override { return *stream_; }
  Stream& copy_stream() override { return *copies_; }
  Stream& side_stream() override { return *side_; }
  Stream& third_stream() override { return *third_; }
  // Synchronous calls also wait for the work already on the stream.
  void upload(void* dst, const void* src, std::size_t bytes) override;
  void download(void* dst, const void* src, std::size_t bytes) override;
  void copy(void* dst, const void* src, std::size_t bytes) override;
  void zero(void* dst, std::size_t bytes) override;
  void upload_async(void* dst, const void* src, std::size_t bytes, Stream& stream) override;
  void download_async(void* dst, const void* src, std::size_t bytes, Stream& stream) override;
  std::unique_ptr<Event> make_event() override;
  std::unique_ptr<Captured> capture(const std::function<void()>& work) override;
  std::size_t free_bytes_now() const override;
  void clear_error() override { cudaGetLastError(); }

 private:
  void* allocate_bytes(std::size_t bytes, bool on_host) override;
  void free_bytes(void* data, bool on_host) noexcept override;

  int index_;
  Capabilities capabilities_;
  std::unique_ptr<CudaStream> stream_, copies_, side_, third_;
};

std::unique_ptr<Device> open_cuda_device(int index, const GpuSurvey& survey);  // one of the survey's

}  // namespace headroom
