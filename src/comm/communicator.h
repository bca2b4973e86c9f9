#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/dtype.h"
#include "device/device.h"

namespace headroom {

enum class Reduction : std::uint8_t { sum, max, min };

// One operation of all ranks of a communicator. All call it in the same order, each with its own memory.
struct Collective {
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier };
  static constexpr std::size_t kKinds = 5;

  Kind kind = Kind::barrier;
  // In place, `count` elements on every rank. all_reduce: the sum over all ranks. reduce_scatter: this rank's
  // part of that sum (share_of, in rank order); the rest is undefined. all_gather: each rank gives its part
  // and gets all parts. broadcast: every rank gets the data of `root`.
  void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  // The device of the memory; null: the host. On a GPU it starts after the work queued on its stream.
  Device* device = nullptr;

  std::int64_t bytes() const { return count * static_cast<std::int64_t>(size_of(dtype)); }
};
std::string_view name_of(Collective::Kind kind);

// Totals of a communicator so far, by kind. Bytes are those of the buffers, not of the wire.
struct Traffic {
  struct Line {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;  // from the end of the previous one to its own end, including waits for other ranks
  };
  std::array<Line, Collective::kKinds> lines;
  double copy_seconds =
      0;  // GPU buffers through the host: copies in both directions, as if nothing overlapped
  double copy_exposed = 0;  // the part not hidden behind messages
  Line& of(Collective::Kind kind) { return lines[static_cast<std::size_t>(kind)]; }
  const Line& of(Collective::Kind kind) const { return lines[static_cast<std::size_t>(kind)]; }
};

// Ranks that work together, whatever the transport. Operations start in call order and run on their own
// thread or stream. Wait for each once, in any order. Use from one thread at a time.
class Communicator {
 public:
  using Ticket = std::uint64_t;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view kind() const = 0;  // "self", "mpi", "nccl"

  virtual Ticket start(const Collective& collective) = 0;
  // Host memory holds the result when this returns. For GPU memory, work queued on its stream from now on
  // sees the result.
  virtual void wait(Ticket ticket) = 0;
  // True if captured work may contain start and wait.
  virtual bool captures() const { return false; }

  // Ranks with the same colour form a new communicator, in the order of their ranks here. All ranks call it.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;
  virtual Traffic traffic() const = 0;

  // Starts and waits; for host memory.
  void run(const Collective& collective) { wait(start(collective)); }
  void barrier() { run({}); }
  void broadcast(void* data, std::size_t bytes, int root = 0);
  void all_reduce(double* values, std::int64_t count, Reduction reduction = Reduction::sum);
};

// For a single process: every operation finishes at once.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace headroom
