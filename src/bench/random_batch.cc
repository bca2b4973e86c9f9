#include "bench/random_batch.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "ops/stored.h"

namespace headroom {
namespace {

// How many tokens there are: entries of the smallest table that the input is an index into. 0: none is found.
std::int64_t token_kinds(const Graph& graph, ValueId tokens) {
  std::int64_t kinds = 0;
  for (const Node& node : graph.nodes()) {
    const bool looks_up = node.op == "gather" && node.inputs[1] == tokens;
    if (node.op == "cast" && node.inputs[0] == tokens) {
      if (const std::int64_t found = token_kinds(graph, node.outputs[0]); found > 0) kinds = found;
    } else if (looks_up) {
      const Shape& table = graph.value(node.inputs[0]).type.shape;
      const std::int64_t axis = node.attrs.integer("axis");
      const std::int64_t entries = table[static_cast<int>(axis < 0 ? axis + table.rank() : axis)];
      kinds = kinds == 0 ? entries : std::min(kinds, entries);
    }
  }
  return kinds;
}

void require_table(const Program& program) {
  const DType dtype = program.graph.value(program.images).type.dtype;
  if (!is_float(dtype) && token_kinds(program.graph, program.images) == 0)
    reject(Hint{"headroom run times it on inputs of yours: `input`"},
           "the network reads {} that are no index into a table: there is nothing to time it on",
           name_of(dtype));
}

template <class T, class Draw>
std::vector<T> drawn(std::int64_t count, const Draw& draw) {
  std::vector<T> values(static_cast<std::size_t>(count));
#pragma omp parallel for
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(draw(i));
  return values;
}

}  // namespace

void require_random_batch(const Net& net) {
  const Program program = make_forward(net, std::max<std::int64_t>(1, fixed_batch(net)), DType::f32);
  require_complete(program, net);
  require_table(program);
}

RandomBatch::RandomBatch(Device& device, const Program& program, std::int64_t count)
    : labels_each_(program.labels_each) {
  require_table(program);
  const TensorType type = program.graph.value(program.images).type;
  const std::int64_t batch = type.shape[0];
  image_bytes_ = static_cast<std::size_t>(type.bytes() / batch);
  images_ = device.allocate(image_bytes_ * static_cast<std::size_t>(count));
  auto upload = [&](const auto& values) {
    for (std::int64_t first = 0; first < count; first += batch)
      device.upload(const_cast<void*>(image(first)), values.data(),
                    image_bytes_ * static_cast<std::size_t>(std::min(batch, count - first)));
  };
  const Philox random(3);
  if (is_float(type.dtype)) {
    dispatch_float(type.dtype, [&]<class T>() {
      // Pixels, as loaders give them: some kernels are faster where values have few bits.
      upload(drawn<T>(type.shape.numel(), [&](std::size_t i) { return double(random.below(i, 256)) / 255; }));
    });
  } else {
    const std::int64_t kinds = token_kinds(program.graph, program.images);
    dispatch_stored(type.dtype, [&]<class T>() {
      upload(drawn<T>(type.shape.numel(), [&](std::size_t i) {
        return static_cast<std::int64_t>(random.below(i, static_cast<std::uint64_t>(kinds)));
      }));
    });
  }
  const Shape& scores = program.graph.value(program.logits).type.shape;
  const std::int64_t classes = std::max<std::int64_t>(1, scores.rank() > 0 ? scores[scores.rank() - 1] : 1);
  const auto labels = drawn<std::int32_t>(
      count * labels_each_, [&](std::size_t i) { return static_cast<std::int64_t>(i) % classes; });
  labels_ = device.allocate(std::max<std::size_t>(1, labels.size()) * sizeof(std::int32_t));
  device.upload(labels_.data(), labels.data(), labels.size() * sizeof(std::int32_t));
}

}  // namespace headroom
