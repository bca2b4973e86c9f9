#pragma once

#include <cstdint>

namespace headroom::cuda {

// Many tensors for one launch, as an argument of it: blocks are dealt out to the tensors in order, `chunk`
// elements to each. More tensors than fit take more launches.
struct TensorTable {
  static constexpr int kMax = 64, kPointers = 4;  // 3.3 of the 4 KB that arguments may take
  int count = 0;
  unsigned first_block[kMax + 1] = {};
  std::int64_t numel[kMax] = {};
  double number[kMax] = {};  // what else a kernel wants to know of a tensor
  void* at[kMax][kPointers] = {};

  bool full() const { return count == kMax; }
  unsigned blocks() const { return first_block[count]; }
  // Returns the row that the caller fills in.
  int add(std::int64_t elements, std::int64_t chunk) {
    numel[count] = elements;
    first_block[count + 1] = first_block[count] + static_cast<unsigned>((elements + chunk - 1) / chunk);
    return count++;
  }
};

}  // namespace headroom::cuda
