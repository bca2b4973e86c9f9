#pragma once

#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace headroom {

// How one group of ranks exchanges bytes: blocking calls, made on the progress thread alone.
class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual void perform(const Collective& collective) = 0;

  // all_gather and reduce_scatter of parts that lie behind each other, of `counts` elements each; the sum of
  // this rank's part comes to the beginning of the memory.
  virtual void gather_parts(void* data, const std::vector<int>& counts, DType dtype) = 0;
  virtual void scatter_parts(void* data, const std::vector<int>& counts, DType dtype,
                             Reduction reduction) = 0;

  // At most so many elements in one call beneath; tests lower it.
  virtual void limit(std::int64_t most) = 0;
  // May the memory be that of a GPU? But for reduce_scatter, whose result the host moves.
  virtual bool takes_device_memory() const { return false; }
  virtual std::unique_ptr<Link> split(int colour) = 0;  // all ranks of the group call it
};

// 16-bit floats are not among the numbers that hosts add.
void require_reducible(const Collective& collective);

}  // namespace headroom
