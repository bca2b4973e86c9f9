#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/engine.h"

namespace headroom {

// One input or output of a network, as a user sees it.
struct PortType {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  int batch_axis = kNone;   // the axis the user may choose; `shape` holds 1 there
  bool counted = false;     // its size depends on the data; `shape` holds the bound
  std::string str() const;  // "'images' (Nx1x28x28 fp32)"
};

// The network of an ONNX file ("net.onnx:sequence=128") for these arrays, named like its inputs. They set its
// open dimensions. Integers that shapes depend on become part of it and leave the list.
Net net_for_arrays(const std::string& spec, std::vector<NamedTensor>& arrays);

// Runs a network's forward pass on arrays by name, over the weights of an engine.
class Inference {
 public:
  explicit Inference(Engine& engine);

  const std::vector<PortType>& inputs() const { return inputs_; }
  const std::vector<PortType>& outputs() const { return outputs_; }

  // Takes one array per input, by name, in any order. The arrays set the batch; if the network has a fixed
  // batch, a multiple of it runs in pieces. Floats are rounded to the network's type, integers must fit.
  // Anything else is rejected with the input's name, its expected type and the given one.
  std::vector<NamedTensor> run(const std::vector<NamedTensor>& arrays);
  std::int64_t batch() const { return batch_; }  // of the last run
  std::string explain() const;                   // its passes, and why each kernel was chosen
  const Plan* plan() const;                      // of the last run; null before it
  const std::vector<PassReport>& passes() const;
  Executor& executor();  // of the last run
  // Runs the last plan again on the same arrays, with these recorders.
  void repeat(Recorders recorders = {});

 private:
  using Ready = Engine::Ready;
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
  Ready* last_ = nullptr;
  std::vector<Buffer> buffers_;  // inputs of the last run
};

}  // namespace headroom
