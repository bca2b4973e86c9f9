#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace headroom {

// How one group of ranks exchanges bytes: blocking calls, made only on the progress thread.
class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void perform(const Collective& collective) = 0;

  // all_gather and reduce_scatter of contiguous parts of `counts` elements each. The sum of this rank's part
  // goes to the start of the memory.
  virtual void gather_parts(void* data, const std::vector<int>& counts, DType dtype) = 0;
  virtual void scatter_parts(void* data, const std::vector<int>& counts, DType dtype,
                             Reduction reduction) = 0;

  // Max elements in one MPI call; tests lower it.
  virtual void limit(std::int64_t most) = 0;
  // True if the memory may be a GPU's. Not for reduce_scatter: the host moves its result.
  virtual bool takes_device_memory() const { return false; }
  virtual std::unique_ptr<Link> split(int colour) = 0;  // all ranks of the group call it
};

// 16-bit floats are not among the numbers that hosts add.
void require_reducible(const Collective& collective);

}  // namespace headroom
