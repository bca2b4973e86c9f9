#include <array>
#include <cstddef>

#include "base/error.h"
#include "comm/chunks.h"
#include "comm/cuda_communicator.h"
#include "device/cuda/check.h"
#include "device/cuda/cuda_device.h"

namespace headroom {
namespace {

constexpr std::size_t kSlots = 3;     // one arrives, one is exchanged, one leaves
constexpr std::size_t kEvents = 256;  // in flight; reusing one early only means waiting longer than necessary

double seconds_from(Progress::Clock::time_point begin) {
  return std::chrono::duration<double>(Progress::Clock::now() - begin).count();
}

// Pinned memory that does not belong to the Device, which may end before the thread releases this.
class Pinned {
 public:
  explicit Pinned(std::size_t bytes) {
    HEADROOM_CUDA_CHECK(cudaHostAlloc(&data_, bytes, cudaHostAllocDefault));
  }
  ~Pinned() { cudaFreeHost(data_); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

struct Slot {
  explicit Slot(Device& gpu)
      : down_begun(gpu.make_event()),
        down(gpu.make_event()),
        up_begun(gpu.make_event()),
        up(gpu.make_event()) {}
  Pinned memory{static_cast<std::size_t>(Chunks::kMax)};
  std::unique_ptr<Event> down_begun, down, up_begun, up;
  bool going = false;  // a copy to the GPU is queued and its time not counted yet
};

class Staged final : public Progress::Work {
 public:
  Staged(CudaDevice& gpu, std::shared_ptr<Link> link)
      : link_(std::move(link)),
        gpu_(gpu.index()),
        counts_(static_cast<std::size_t>(link_->size())),
        slots_{std::make_unique<Slot>(gpu), std::make_unique<Slot>(gpu), std::make_unique<Slot>(gpu)} {
    for (auto& event : ready_) event = gpu.make_event();
  }

  const std::shared_ptr<Link>& link() const { return link_; }
  // Called by the thread that starts: after the work now on its stream.
  void mark_ready(Stream& stream) { ready_[started_++ % kEvents]->record(stream); }

  void perform(const Collective& c, Progress::Clock::time_point) override {
    HEADROOM_CUDA_CHECK(cudaSetDevice(gpu_));
    Event& ready = *ready_[performed_++ % kEvents];
    ready.synchronize();
    const auto begin = Progress::Clock::now();
    const bool direct = link_->takes_device_memory() && c.kind != Collective::Kind::reduce_scatter;
    double messages = 0, copies = 0;
    if (direct || c.kind == Collective::Kind::barrier)
      link_->perform(c);
    else
      pass_through(c, messages, copies);
    const double total = seconds_from(begin);
    const std::lock_guard lock(mutex_);
    Traffic::Line& line = traffic_.of(c.kind);
    ++line.calls;
    line.bytes += c.bytes();
    line.seconds += total;
    traffic_.copy_seconds += copies;
    if (copies > 0) traffic_.copy_exposed += total - messages;
  }

  Traffic traffic() const {
    const std::lock_guard lock(mutex_);
    return traffic_;
  }

 private:
  // Chunk k+1 comes from the GPU while the link works on k and k-1 goes back.
  void pass_through(const Collective& c, double& messages, double& copies) {
    const Chunks chunks(c, link_->rank(), link_->size());
    if (chunks.number() > 0) fetch(chunks, 0, copies);
    for (std::int64_t k = 0; k < chunks.number(); ++k) {
      if (k + 1 < chunks.number()) fetch(chunks, k + 1, copies);
      Slot& slot = slot_of(k);
      slot.down->synchronize();
      copies += slot.down->seconds_since(*slot.down_begun);
      const auto begin = Progress::Clock::now();
      exchange(c, chunks, k, slot);
      messages += seconds_from(begin);
      put_back(chunks, k, slot);
    }
    up_.synchronize();
    for (auto& slot : slots_) settle(*slot, copies);
  }

  void fetch(const Chunks& chunks, std::int64_t chunk, double& copies) {
    Slot& slot = slot_of(chunk);
    settle(slot, copies);
    slot.down_begun->record(down_);
    chunks.given(chunk, [&](void* there, std::size_t at, std::size_t bytes) {
      HEADROOM_CUDA_CHECK(
          cudaMemcpyAsync(slot.memory.data() + at, there, bytes, cudaMemcpyDeviceToHost, down_.handle()));
    });
    slot.down->record(down_);
  }

  void exchange(const Collective& c, const Chunks& chunks, std::int64_t chunk, Slot& slot) {
    if (chunks.parted()) {
      chunks.counts(chunk, counts_);
      if (c.kind == Collective::Kind::all_gather)
        return link_->gather_parts(slot.memory.data(), counts_, c.dtype);
      return link_->scatter_parts(slot.memory.data(), counts_, c.dtype, c.reduction);
    }
    Collective part = c;
    part.data = slot.memory.data();
    part.count = chunks.elements(chunk);
    part.device = nullptr;
    link_->perform(part);
  }

  void put_back(const Chunks& chunks, std::int64_t chunk, Slot& slot) {
    slot.up_begun->record(up_);
    chunks.taken(chunk, [&](void* there, std::size_t at, std::size_t bytes) {
      HEADROOM_CUDA_CHECK(
          cudaMemcpyAsync(there, slot.memory.data() + at, bytes, cudaMemcpyHostToDevice, up_.handle()));
    });
    slot.up->record(up_);
    slot.going = true;
  }

  // The slot has been copied to the GPU and may be reused.
  static void settle(Slot& slot, double& copies) {
    if (!slot.going) return;
    slot.up->synchronize();
    copies += slot.up->seconds_since(*slot.up_begun);
    slot.going = false;
  }

  Slot& slot_of(std::int64_t chunk) { return *slots_[static_cast<std::size_t>(chunk) % kSlots]; }

  std::shared_ptr<Link> link_;
  const int gpu_;
  CudaStream down_, up_;
  std::vector<int> counts_;
  std::array<std::unique_ptr<Slot>, kSlots> slots_;
  std::array<std::unique_ptr<Event>, kEvents> ready_;
  std::uint64_t started_ = 0, performed_ = 0;  // each used by one thread
  mutable std::mutex mutex_;
  Traffic traffic_;
};

class StagedCommunicator final : public Communicator {
 public:
  StagedCommunicator(CudaDevice& gpu, std::shared_ptr<Progress> progress, std::shared_ptr<Link> link)
      : gpu_(gpu),
        progress_(std::move(progress)),
        host_(progress_, link),
        work_(std::make_shared<Staged>(gpu, std::move(link))) {}

  int rank() const override { return work_->link()->rank(); }
  int size() const override { return work_->link()->size(); }
  std::string_view kind() const override { return "mpi"; }

  Ticket start(const Collective& c) override {
    if (c.device == nullptr || c.device->kind() == DeviceKind::cpu) return host_.start(c);
    require_valid(c, size());
    require_reducible(c);
    work_->mark_ready(c.device->stream());
    return progress_->start(work_, c);
  }
  // When the thread has finished, so has the last copy.
  void wait(Ticket ticket) override { progress_->wait(ticket); }

  std::unique_ptr<Communicator> split(int colour) override {
    std::shared_ptr<Link> part;
    progress_->call([&] { part = work_->link()->split(colour); });
    return make_staged_communicator(gpu_, progress_, part);
  }

  Traffic traffic() const override {
    Traffic all = work_->traffic();
    const Traffic host = host_.traffic();
    for (std::size_t i = 0; i < all.lines.size(); ++i) {
      all.lines[i].calls += host.lines[i].calls;
      all.lines[i].bytes += host.lines[i].bytes;
      all.lines[i].seconds += host.lines[i].seconds;
    }
    return all;
  }

 private:
  CudaDevice& gpu_;
  std::shared_ptr<Progress> progress_;
  MpiCommunicator host_;
  std::shared_ptr<Staged> work_;
};

}  // namespace

std::unique_ptr<Communicator> make_staged_communicator(Device& gpu, std::shared_ptr<Progress> progress,
                                                       std::shared_ptr<Link> link) {
  return std::make_unique<StagedCommunicator>(static_cast<CudaDevice&>(gpu), std::move(progress),
                                              std::move(link));
}

}  // namespace headroom
