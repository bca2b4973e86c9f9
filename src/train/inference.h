#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/engine.h"

namespace headroom {

// One end of a network as a user must know it.
struct PortType {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  int batch_axis = kNone;   // whose extent the user chooses; `shape` holds 1 there
  std::string str() const;  // "'images' (Nx1x28x28 fp32)"
};

// The network of an ONNX file ("net.onnx:sequence=128") for these arrays, by the names of its inputs: open
// dimensions are theirs, and integers that shapes depend on become part of it and leave the list.
Net net_for_arrays(const std::string& spec, std::vector<NamedTensor>& arrays);

// Runs a network's forward pass on arrays by name, over the weights of an engine.
class Inference {
 public:
  explicit Inference(Engine& engine);

  const std::vector<PortType>& inputs() const { return inputs_; }
  const std::vector<PortType>& outputs() const { return outputs_; }

  // One array for each input, by name, in any order. The batch is that of the arrays; where the network
  // insists on one, a multiple of it is run in pieces. Floats are rounded to the type the network computes
  // in, integers must fit. Anything else is rejected with the input's name, what it takes and what it was
  // given.
  std::vector<NamedTensor> run(const std::vector<NamedTensor>& arrays);
  std::int64_t batch() const { return batch_; }  // of the last run
  std::string explain() const;                   // its plan: why each kernel was chosen

 private:
  struct Ready {
    Program program;
    std::unique_ptr<Executor> executor;
  };
  Ready& ready(std::int64_t batch);
  std::vector<NamedTensor> in_order(const std::vector<NamedTensor>& arrays) const;
  std::int64_t batch_of(const std::vector<NamedTensor>& arrays) const;
  std::vector<NamedTensor> run_once(std::int64_t batch, const std::vector<NamedTensor>& arrays);
  NamedTensor output(Ready& ready, const Port& port, const std::vector<NamedTensor>& arrays) const;

  Engine& engine_;
  Arena arena_;
  std::int64_t fixed_batch_, batch_ = 0;
  std::vector<PortType> inputs_, outputs_;
  std::map<std::int64_t, Ready> ready_;
};

}  // namespace headroom
