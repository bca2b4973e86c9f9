#include "device/cuda/cuda_device.h"

#include "base/error.h"
#include "base/spans.h"
#include "base/text.h"
#include "base/units.h"
#include "device/cuda/check.h"
#include "device/cuda/library.h"
#include "device/cuda/store.h"

namespace headroom {
namespace {

const SpanName kUploadSpan{"cudaMemcpyHostToDevice"}, kDownloadSpan{"cudaMemcpyDeviceToHost"};

cudaStream_t handle_of(Stream& stream) { return static_cast<CudaStream&>(stream).handle(); }

class CudaEvent final : public Event {
 public:
  CudaEvent() { HEADROOM_CUDA_CHECK(cudaEventCreate(&handle_)); }
  ~CudaEvent() override { cudaEventDestroy(handle_); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  void record(Stream& stream) override { HEADROOM_CUDA_CHECK(cudaEventRecord(handle_, handle_of(stream))); }
  void hold(Stream& stream) override {
    HEADROOM_CUDA_CHECK(cudaStreamWaitEvent(handle_of(stream), handle_, 0));
  }
  void synchronize() override { HEADROOM_CUDA_CHECK(cudaEventSynchronize(handle_)); }
  double seconds_since(const Event& earlier) const override {
    float milliseconds = 0;
    HEADROOM_CUDA_CHECK(
        cudaEventElapsedTime(&milliseconds, static_cast<const CudaEvent&>(earlier).handle_, handle_));
    return 1e-3 * double{milliseconds};
  }

 private:
  cudaEvent_t handle_ = nullptr;
};

class CudaGraph final : public Captured {
 public:
  CudaGraph(cudaGraphExec_t exec, cudaStream_t stream) : exec_(exec), stream_(stream) {}
  ~CudaGraph() override { cudaGraphExecDestroy(exec_); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  void launch() override { HEADROOM_CUDA_CHECK(cudaGraphLaunch(exec_, stream_)); }

 private:
  cudaGraphExec_t exec_;
  cudaStream_t stream_;
};

}  // namespace

CudaStream::CudaStream(int priority) {
  HEADROOM_CUDA_CHECK(cudaStreamCreateWithPriority(&handle_, cudaStreamNonBlocking, priority));
}
CudaStream::~CudaStream() { cudaStreamDestroy(handle_); }
void CudaStream::synchronize() { HEADROOM_CUDA_CHECK(cudaStreamSynchronize(handle_)); }

CudaDevice::CudaDevice(int index, Capabilities capabilities)
    : index_(index), capabilities_(std::move(capabilities)) {
  HEADROOM_CUDA_CHECK(cudaSetDevice(index_));
  int last = 0, first = 0;
  HEADROOM_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&last, &first));
  stream_ =
      std::make_unique<CudaStream>(first);  // higher priority than the others: they wait for its kernels
  copies_ = std::make_unique<CudaStream>();
  side_ = std::make_unique<CudaStream>();
  third_ = std::make_unique<CudaStream>();
}

CudaDevice::~CudaDevice() = default;

void CudaDevice::upload(void* dst, const void* src, std::size_t bytes) {
  const Span span(kUploadSpan, SpanKind::copy);
  upload_async(dst, src, bytes, *stream_);
  stream_->synchronize();
}

void CudaDevice::download(void* dst, const void* src, std::size_t bytes) {
  const Span span(kDownloadSpan, SpanKind::copy);
  download_async(dst, src, bytes, *stream_);
  stream_->synchronize();
}

void CudaDevice::copy(void* dst, const void* src, std::size_t bytes) {
  HEADROOM_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToDevice, stream_->handle()));
}

void CudaDevice::zero(void* dst, std::size_t bytes) {
  HEADROOM_CUDA_CHECK(cudaMemsetAsync(dst, 0, bytes, stream_->handle()));
}

void CudaDevice::upload_async(void* dst, const void* src, std::size_t bytes, Stream& stream) {
  if (bytes > 0 && bytes <= cuda::kMaxStored) return cuda::store(dst, src, bytes, handle_of(stream));
  HEADROOM_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyHostToDevice, handle_of(stream)));
}

void CudaDevice::download_async(void* dst, const void* src, std::size_t bytes, Stream& stream) {
  HEADROOM_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, handle_of(stream)));
}

std::unique_ptr<Event> CudaDevice::make_event() { return std::make_unique<CudaEvent>(); }

std::unique_ptr<Captured> CudaDevice::capture(const std::function<void()>& work) {
  cudaGraph_t graph = nullptr;
  HEADROOM_CUDA_CHECK(cudaStreamBeginCapture(stream_->handle(), cudaStreamCaptureModeThreadLocal));
  try {
    work();
  } catch (...) {  // end the capture, or nothing can be queued on the stream again
    cudaStreamEndCapture(stream_->handle(), &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  HEADROOM_CUDA_CHECK(cudaStreamEndCapture(stream_->handle(), &graph));
  cudaGraphExec_t exec = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphDestroy(graph);
  HEADROOM_CUDA_CHECK(made);
  return std::make_unique<CudaGraph>(exec, stream_->handle());
}

std::size_t CudaDevice::free_bytes_now() const {
  std::size_t free = 0, total = 0;
  HEADROOM_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

void* CudaDevice::allocate_bytes(std::size_t bytes, bool on_host) {
  void* data = nullptr;
  const cudaError_t error =
      on_host ? cudaHostAlloc(&data, bytes, cudaHostAllocDefault) : cudaMalloc(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw Error(Blame::run,
                fmt::format("out of memory: {} of {} were refused; {} are free", human_bytes(double(bytes)),
                            on_host ? "pinned host memory" : capabilities_.name,
                            human_bytes(double(free_bytes_now()))),
                Hint{"try a smaller `batch`, or `no-resident`"});
  }
  HEADROOM_CUDA_CHECK(error);
  return data;
}

void CudaDevice::free_bytes(void* data, bool on_host) noexcept {
  if (on_host)
    cudaFreeHost(data);
  else
    cudaFree(data);
}

namespace {

// Both libraries return one number and take no argument.
void add_version(std::string& text, const char* name, const cuda::Library& library, const char* function) {
  std::size_t (*version)() = nullptr;
  if (library.find(version, function)) text += fmt::format(", {} {}", name, version());
}

}  // namespace

std::unique_ptr<Device> open_cuda_device(int index, const GpuSurvey& survey) {
  Capabilities capabilities = survey.gpus[static_cast<std::size_t>(index)];
  const cuda::Library cublaslt(cuda::cublaslt_names());
  capabilities.cublaslt = cublaslt.loaded();
  capabilities.libraries = fmt::format("driver {}", survey.driver);
  add_version(capabilities.libraries, "cuBLASLt", cublaslt, "cublasLtGetVersion");
#ifdef HEADROOM_HAS_CUDNN
  const cuda::Library cudnn(cuda::cudnn_names());
  capabilities.cudnn = cudnn.loaded();
  add_version(capabilities.libraries, "cuDNN", cudnn, "cudnnGetVersion");
#else
  capabilities.cudnn = false;
#endif
  return std::make_unique<CudaDevice>(index, std::move(capabilities));
}

}  // namespace headroom
