#pragma once

// ONNX graphs of one node, run as they are and with every input stored in the file, so that the reader
// computes the results itself.

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <limits>

#include "base/half.h"
#include "data/tensor_values.h"
#include "data/testing/bad_input.h"
#include "device/device.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "models/onnx/testing/model_maker.h"
#include "train/inference.h"

namespace headroom::testing {

using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;
using onnx::testing::ModelMaker;

// An array with a type of the format. Integers are exact, floats are doubles.
struct Array {
  int type = TensorProto::FLOAT;
  Shape shape;
  std::vector<double> reals = {};
  Ints integers = {};

  DType dtype() const { return *onnx::dtype_of(type); }
  // As the program takes and gives it: floats in `floats`.
  NamedTensor tensor(const std::string& name, DType floats = DType::f32) const {
    const DType to = is_float(dtype()) ? floats : dtype();
    const ConstantData data =
        is_float(dtype()) ? constant_data(shape, reals, DType::f64) : constant_data(shape, integers);
    NamedTensor t{name, {shape, to}, {}};
    t.bytes.resize(static_cast<std::size_t>(t.type.bytes()));
    data.convert(to, t.bytes.data());
    return t;
  }
};

inline Array floats(Shape shape, std::vector<double> values, int type = TensorProto::FLOAT) {
  return {type, shape, std::move(values), {}};
}
inline Array whole(Shape shape, Ints values, int type = TensorProto::INT64) {
  return {type, shape, {}, std::move(values)};
}

inline void store(ModelMaker& m, const std::string& name, const Array& array) {
  TensorProto& t = *m.graph.add_initializer();
  t.set_name(name);
  t.set_data_type(array.type);
  for (const std::int64_t extent : array.shape.dims()) t.add_dims(extent);
  for (const std::int64_t value : array.integers) {
    if (array.type == TensorProto::INT64)
      t.add_int64_data(value);
    else if (array.type == TensorProto::UINT32 || array.type == TensorProto::UINT64)
      t.add_uint64_data(static_cast<std::uint64_t>(value));
    else
      t.add_int32_data(static_cast<std::int32_t>(value));
  }
  for (const double value : array.reals) {
    if (array.type == TensorProto::FLOAT)
      t.add_float_data(static_cast<float>(value));
    else if (array.type == TensorProto::DOUBLE)
      t.add_double_data(value);
    else
      t.add_int32_data(half_bits(array.dtype(), value));
  }
}

inline Net net_of(const ModelMaker& m) {
  const auto graph = std::make_shared<const ImportedGraph>(onnx::File::parse(m.bytes(), "small.onnx"),
                                                           std::map<std::string, std::int64_t>{});
  Net net(graph->name(), graph->item());
  net.imported = graph;
  return net;
}

inline std::vector<NamedTensor> run_net(const Net& net, const std::vector<NamedTensor>& arrays,
                                        DType precision = DType::f32) {
  const auto device = open_device("cpu", 1);
  Engine engine(net, *device, {.precision = precision});
  return Inference(engine).run(arrays);
}

struct OneNode {
  std::string op;
  std::vector<Array> inputs;
  std::function<void(onnx::NodeProto&)> attributes = [](onnx::NodeProto&) {};
  std::int64_t opset = 18;

  // The node is called "n", its inputs "x0", "x1", …, its output "y".
  ModelMaker model(bool all_stored) const {
    ModelMaker m(opset);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      names.push_back("x" + std::to_string(i));
      std::vector<std::string> dims;
      for (const std::int64_t extent : inputs[i].shape.dims()) dims.push_back(std::to_string(extent));
      if (all_stored)
        store(m, names.back(), inputs[i]);
      else
        m.input(names.back(), dims, inputs[i].type);
    }
    if (all_stored) m.input("unused", {"1"});
    onnx::NodeProto& node = m.node(op, names, {"y"});
    node.set_name("n");
    attributes(node);
    m.graph.add_output()->set_name("y");
    return m;
  }

  std::vector<NamedTensor> arrays(bool all_stored, DType precision) const {
    if (all_stored) return {floats({1}, {0}).tensor("unused", precision)};
    std::vector<NamedTensor> list;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      list.push_back(inputs[i].tensor("x" + std::to_string(i), precision));
    return list;
  }

  NamedTensor run(bool all_stored, DType precision = DType::f32) const {
    return run_net(net_of(model(all_stored)), arrays(all_stored, precision), precision).at(0);
  }
};

// The node's result at run time and while reading. Integers must be equal, floats almost.
inline void expect_result(const OneNode& node, const Array& want, Tolerance tolerance = {1e-6, 1e-7}) {
  for (const DType precision : {DType::f32, DType::f64})
    for (const bool all_stored : {false, true}) {
      SCOPED_TRACE(fmt::format("{} in {}{}", node.op, name_of(precision), all_stored ? ", all stored" : ""));
      const NamedTensor got = node.run(all_stored, precision), wanted = want.tensor("y", precision);
      const Difference d = compare(got, wanted, tolerance);
      EXPECT_TRUE(d.passed()) << d.mismatch << d.wrong << " of " << d.elements << " are wrong; element "
                              << d.worst << " is " << d.got << ", not " << d.wanted;
      if (!is_float(wanted.type.dtype)) {
        EXPECT_EQ(got.bytes, wanted.bytes);
      }
    }
}

}  // namespace headroom::testing
