#include "base/error.h"
#include "base/shares.h"
#include "comm/cuda_communicator.h"
#include "comm/cuda_nccl_library.h"

#ifdef HEADROOM_HAS_NCCL

#include <array>
#include <exception>

#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"

namespace headroom {
namespace {

ncclDataType_t nccl_type(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return ncclFloat64;
    case DType::f32:
      return ncclFloat32;
    case DType::f16:
      return ncclFloat16;
    case DType::bf16:
      return ncclBfloat16;
    case DType::i64:
      return ncclInt64;
    case DType::i32:
      return ncclInt32;
    default:
      return ncclUint8;
  }
}

ncclRedOp_t nccl_op(Reduction reduction) {
  return reduction == Reduction::sum ? ncclSum : reduction == Reduction::max ? ncclMax : ncclMin;
}

// Runs on its own stream, between events on the device's stream. Only barriers and the counting of time wait
// on the host, so everything else can be captured. Traffic that a captured graph sends again is not counted.
class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(CudaDevice& gpu, ncclComm_t comm, int rank, int size)
      : gpu_(gpu), comm_(comm), rank_(rank), size_(size), ready_(gpu.make_event()) {
    HEADROOM_CUDA_CHECK(cudaMalloc(&scratch_, kAlignment));
    HEADROOM_CUDA_CHECK(cudaMemset(scratch_, 0, kAlignment));
    for (Flight& f : flights_) f.begun = gpu.make_event(), f.done = gpu.make_event();
  }
  ~NcclCommunicator() override {
    // After a failure the other ranks may be gone, and both calls would wait for them forever.
    if (std::uncaught_exceptions() > 0) return;
    cudaStreamSynchronize(stream_.handle());
    n_.CommDestroy(comm_);
    cudaFree(scratch_);
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view kind() const override { return "nccl"; }
  bool captures() const override { return true; }

  Ticket start(const Collective& c) override {
    require_valid(c, size_);
    if (c.kind != Collective::Kind::barrier && (c.device == nullptr || c.device->kind() != DeviceKind::cuda))
      fail("{} of host memory through NCCL", name_of(c.kind));
    Stream& work = c.device != nullptr ? c.device->stream() : gpu_.stream();
    Flight& flight = flights_[++started_ % kFlights];
    const bool captured = capturing(work);
    if (!captured) settle(flight);
    ready_->record(work);
    ready_->hold(stream_);
    if (!captured) flight.begun->record(stream_);
    queue(c);
    flight.done->record(stream_);
    flight.timed = !captured;
    flight.kind = c.kind;
    Traffic::Line& line = traffic_.of(c.kind);
    ++line.calls;
    line.bytes += c.bytes();
    return started_;
  }

  void wait(Ticket ticket) override {
    Flight& flight = flights_[ticket % kFlights];
    flight.done->hold(gpu_.stream());
    if (flight.kind == Collective::Kind::barrier && flight.timed) flight.done->synchronize();
    ncclResult_t state = ncclSuccess;
    HEADROOM_NCCL_CHECK(n_.CommGetAsyncError(comm_, &state));
    check_nccl(state, "a collective");
  }

  std::unique_ptr<Communicator> split(int colour) override {
    ncclComm_t part = nullptr;
    HEADROOM_NCCL_CHECK(n_.CommSplit(comm_, colour, rank_, &part, nullptr));
    int rank = 0, size = 0;
    HEADROOM_NCCL_CHECK(n_.CommUserRank(part, &rank));
    HEADROOM_NCCL_CHECK(n_.CommCount(part, &size));
    return std::make_unique<NcclCommunicator>(gpu_, part, rank, size);
  }

  Traffic traffic() const override {
    for (Flight& flight : flights_) settle(flight);
    return traffic_;
  }

 private:
  static constexpr std::size_t kFlights = 256;
  struct Flight {
    std::unique_ptr<Event> begun, done;
    Collective::Kind kind = Collective::Kind::barrier;
    bool timed = false;
  };

  static bool capturing(Stream& stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    HEADROOM_CUDA_CHECK(cudaStreamIsCapturing(static_cast<CudaStream&>(stream).handle(), &status));
    return status != cudaStreamCaptureStatusNone;
  }

  // The time of an operation; waits for its end if necessary.
  void settle(Flight& flight) const {
    if (!flight.timed) return;
    flight.done->synchronize();
    traffic_.of(flight.kind).seconds += flight.done->seconds_since(*flight.begun);
    flight.timed = false;
  }

  void queue(const Collective& c) {
    const ncclDataType_t type = nccl_type(c.dtype);
    const auto count = static_cast<std::size_t>(c.count);
    cudaStream_t s = stream_.handle();
    switch (c.kind) {
      case Collective::Kind::all_reduce:
        return HEADROOM_NCCL_CHECK(n_.AllReduce(c.data, c.data, count, type, nccl_op(c.reduction), comm_, s));
      case Collective::Kind::broadcast:
        return HEADROOM_NCCL_CHECK(n_.Broadcast(c.data, c.data, count, type, c.root, comm_, s));
      case Collective::Kind::barrier:
        return HEADROOM_NCCL_CHECK(n_.AllReduce(scratch_, scratch_, 1, ncclFloat32, ncclSum, comm_, s));
      case Collective::Kind::reduce_scatter:
        if (c.count % size_ == 0)
          return HEADROOM_NCCL_CHECK(n_.ReduceScatter(c.data, part(c, rank_), count / std::size_t(size_),
                                                      type, nccl_op(c.reduction), comm_, s));
        return each_part(c, [&](void* data, std::size_t many, int r) {
          HEADROOM_NCCL_CHECK(n_.Reduce(data, data, many, type, nccl_op(c.reduction), r, comm_, s));
        });
      case Collective::Kind::all_gather:
        if (c.count % size_ == 0)
          return HEADROOM_NCCL_CHECK(
              n_.AllGather(part(c, rank_), c.data, count / std::size_t(size_), type, comm_, s));
        return each_part(c, [&](void* data, std::size_t many, int r) {
          HEADROOM_NCCL_CHECK(n_.Broadcast(data, data, many, type, r, comm_, s));
        });
    }
  }

  void* part(const Collective& c, int rank) const {
    return static_cast<char*>(c.data) +
           share_of(c.count, size_, rank).first * static_cast<std::int64_t>(size_of(c.dtype));
  }
  // NCCL supports equal parts only. Unequal parts take one call per rank, all in one group.
  template <class Call>
  void each_part(const Collective& c, Call&& call) {
    HEADROOM_NCCL_CHECK(n_.GroupStart());
    for (int r = 0; r < size_; ++r)
      if (const Share share = share_of(c.count, size_, r); share.count > 0)
        call(part(c, r), static_cast<std::size_t>(share.count), r);
    HEADROOM_NCCL_CHECK(n_.GroupEnd());
  }

  const Nccl& n_ = nccl();
  CudaDevice& gpu_;
  ncclComm_t comm_;
  const int rank_, size_;
  CudaStream stream_;
  void* scratch_ = nullptr;
  std::unique_ptr<Event> ready_;
  mutable std::array<Flight, kFlights> flights_;
  mutable Traffic traffic_;
  Ticket started_ = 0;
};

}  // namespace

std::unique_ptr<Communicator> make_nccl_communicator(Device& gpu, Communicator& within) {
  auto& cuda = static_cast<CudaDevice&>(gpu);
  HEADROOM_CUDA_CHECK(cudaSetDevice(cuda.index()));
  ncclUniqueId id{};
  if (within.rank() == 0) HEADROOM_NCCL_CHECK(nccl().GetUniqueId(&id));
  within.broadcast(&id, sizeof id);
  ncclComm_t comm = nullptr;
  HEADROOM_NCCL_CHECK(nccl().CommInitRank(&comm, within.size(), id, within.rank()));
  return std::make_unique<NcclCommunicator>(cuda, comm, within.rank(), within.size());
}

}  // namespace headroom

#else

namespace headroom {

std::unique_ptr<Communicator> make_nccl_communicator(Device&, Communicator&) { fail("{}", why_no_nccl()); }

}  // namespace headroom

#endif
