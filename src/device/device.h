#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/capabilities.h"

namespace headroom {

class Device;

// Memory of one device, or host memory that a device reads directly; freed with the object.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, void* data, std::size_t bytes, bool on_host = false)
      : device_(&device), data_(data), bytes_(bytes), on_host_(on_host) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device* device() const { return device_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool on_host_ = false;
};

// An ordered queue of work. The CPU has one and finishes each piece before the call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
};

// A point in a stream: other streams and the host can wait for it, and two of them give a time.
class Event {
 public:
  virtual ~Event() = default;
  virtual void record(Stream& stream) = 0;
  virtual void hold(Stream& stream) = 0;  // work queued there later waits for the event
  virtual void synchronize() = 0;         // the host waits
  virtual double seconds_since(const Event& earlier) const = 0;  // both must have happened
};

// Captured work that can be queued again as a whole, at the same addresses.
class Captured {
 public:
  virtual ~Captured() = default;
  virtual void launch() = 0;
};

// The small interface that everything above uses. One object per physical device; not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Capabilities& capabilities() const = 0;
  virtual Stream& stream() = 0;       // for kernels and synchronous copies
  virtual Stream& copy_stream() = 0;  // for concurrent copies; on the CPU the same
  // For more kernels in captures; on the CPU the same.
  virtual Stream& side_stream() { return stream(); }
  virtual Stream& third_stream() { return stream(); }

  Buffer allocate(std::size_t bytes);
  Buffer allocate_host(std::size_t bytes);  // pinned: copies to and from it are asynchronous
  virtual void upload(void* dst, const void* src, std::size_t bytes) = 0;    // host to device
  virtual void download(void* dst, const void* src, std::size_t bytes) = 0;  // device to host
  virtual void copy(void* dst, const void* src, std::size_t bytes) = 0;      // within the device
  virtual void zero(void* dst, std::size_t bytes) = 0;
  // Queued; the host memory must stay unchanged until the stream has processed the copy.
  virtual void upload_async(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;
  virtual void download_async(void* dst, const void* src, std::size_t bytes, Stream& stream) = 0;

  virtual std::unique_ptr<Event> make_event() = 0;
  // Captures what `work` queues on the stream, without running it. Null if the device cannot capture.
  virtual std::unique_ptr<Captured> capture(const std::function<void()>& work) = 0;
  virtual std::size_t free_bytes_now() const = 0;  // memory still available
  virtual void clear_error() {}  // after a failed call was handled, so that the next one does not report it

  DeviceKind kind() const { return capabilities().kind; }

 private:
  friend class Buffer;
  virtual void* allocate_bytes(std::size_t bytes, bool on_host) = 0;
  virtual void free_bytes(void* data, bool on_host) noexcept = 0;
};

// Every offset and allocation is a multiple of this: a cache line, a SIMD register, a CUDA transaction.
inline constexpr std::size_t kAlignment = 256;
constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// "cpu" or "cuda:n". threads: 0 means one per core that this process may use.
std::unique_ptr<Device> open_device(std::string_view name, int threads = 0);
// The capabilities of open_device("cpu", threads), without opening it.
Capabilities cpu_capabilities(int threads = 0);

// GPUs of this machine, found without opening any. `why_not` says why there is none: no driver, a driver that
// is too old, no device, or a build without CUDA; `try_this` says what would help.
struct GpuSurvey {
  std::vector<Capabilities> gpus;
  std::string driver, runtime;  // CUDA versions, "13.0"; empty if unknown
  std::string why_not, try_this;
};
GpuSurvey survey_gpus();

}  // namespace headroom
