#pragma once

#include <memory>
#include <vector>

#include "ops/operator.h"
#include "plan/executor.h"

namespace headroom {

// The types of a case's inputs, for kernels that compute in `dtype`.
std::vector<TensorType> input_types(const Operator& op, const Case& c, DType dtype);

// A GPU's cache would hold the largest CPU cases, so their vectors grow to 400 MB there.
Case grown_for(DeviceKind device, Case c);

// A graph of one node of an operator, on a case, over random inputs that it owns.
class OperatorNode {
 public:
  // `tune`: kernels with candidates race them first, as the engine does; else they run the first.
  OperatorNode(Device& device, const Operator& op, const Case& c, DType dtype, const Target& target,
               const Chooser& choose, bool tune);

  Executor& executor() { return *executor_; }
  const Step& step() const { return executor_->plan().steps.at(0); }

 private:
  void fill(std::size_t i, const Fill& how, const TensorType& type);

  Device& device_;
  Storage storage_;
  Arena arena_;
  std::vector<Buffer> buffers_;
  std::unique_ptr<Executor> executor_;
};

}  // namespace headroom
