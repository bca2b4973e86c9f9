#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/dtype.h"
#include "device/device.h"

namespace headroom {

enum class Reduction : std::uint8_t { sum, max, min };

// One operation that all ranks of a communicator take part in, in the same order, each with its own memory.
struct Collective {
  enum class Kind : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, barrier };
  static constexpr std::size_t kKinds = 5;

  Kind kind = Kind::barrier;
  // In place, `count` elements on every rank. all_reduce: becomes the sum of all. reduce_scatter: of the sum,
  // the part of this rank (share_of, in order of ranks), the rest is undefined. all_gather: this rank's part
  // is given, the parts of all are taken. broadcast: what `root` has.
  void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  // Where the memory is. Null: the host's. On a GPU the operation begins after what is queued on its stream.
  Device* device = nullptr;

  std::int64_t bytes() const { return count * static_cast<std::int64_t>(size_of(dtype)); }
};
std::string_view name_of(Collective::Kind kind);

// What went through a communicator so far, by kind. Bytes are those of the buffers, not of the wire.
struct Traffic {
  struct Line {
    std::int64_t calls = 0, bytes = 0;
    double seconds = 0;  // from the time all before it was done to its own end, waiting for others included
  };
  std::array<Line, Collective::kKinds> lines;
  double copy_seconds =
      0;  // GPU buffers through the host: copies of both directions, as if nothing overlapped
  double copy_exposed = 0;  // of these, not hidden behind messages
  Line& of(Collective::Kind kind) { return lines[static_cast<std::size_t>(kind)]; }
  const Line& of(Collective::Kind kind) const { return lines[static_cast<std::size_t>(kind)]; }
};

// Ranks that work together. Nothing above knows what they are made of. Operations are started in the order of
// the calls and run on a thread or stream of their own; each is waited for once, in any order. One thread at
// a time.
class Communicator {
 public:
  using Ticket = std::uint64_t;

  virtual ~Communicator() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual std::string_view kind() const = 0;  // "self", "mpi", "nccl"

  virtual Ticket start(const Collective& collective) = 0;
  // The host's memory holds the result when this returns; of a GPU's, what is queued on its stream from now
  // on finds it there.
  virtual void wait(Ticket ticket) = 0;
  // Can start and wait be part of captured work?
  virtual bool captures() const { return false; }

  // Ranks that say the same colour become a communicator of their own, in the order of their ranks here. All
  // ranks call it.
  virtual std::unique_ptr<Communicator> split(int colour) = 0;
  virtual Traffic traffic() const = 0;

  // Started and waited for; of the host's memory.
  void run(const Collective& collective) { wait(start(collective)); }
  void barrier() { run({}); }
  void broadcast(void* data, std::size_t bytes, int root = 0);
  void all_reduce(double* values, std::int64_t count, Reduction reduction = Reduction::sum);
};

// Alone: everything is done at once.
std::unique_ptr<Communicator> make_self_communicator();

}  // namespace headroom
