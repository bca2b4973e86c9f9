#include "models/onnx/tied.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "models/onnx/contents.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/stored.h"

namespace headroom::onnx {
namespace {

constexpr std::int64_t kSmallMatrix = 16;  // equal elements of smaller matrices may be chance

bool is_candidate(const TensorProto& t) {
  constexpr std::int64_t kMaxExtent = std::int64_t{1} << 31;  // a damaged file may name any extent
  if (t.dims_size() != 2 ||
      std::ranges::any_of(t.dims(), [](std::int64_t d) { return d < 2 || d > kMaxExtent; }))
    return false;
  const std::optional<DType> dtype = dtype_of(t.data_type());
  return dtype && is_float(*dtype) && t.dims(0) * t.dims(1) >= kSmallMatrix;
}

bool is_transpose(const ConstantData& a, const ConstantData& b) {
  const std::int64_t rows = a.type.shape[0], columns = a.type.shape[1];
  const std::size_t size = size_of(a.type.dtype);
  if (a.repeated || b.repeated || a.type.dtype != b.type.dtype) return false;
  const auto equal = [&](std::int64_t row, std::int64_t column) {
    return std::memcmp(a.data.get() + std::size_t(row * columns + column) * size,
                       b.data.get() + std::size_t(column * rows + row) * size, size) == 0;
  };
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i)  // most pairs differ early
    if (!equal(i, columns - 1 - i)) return false;
  constexpr std::int64_t kBlock = 64;  // both sides of a block stay in the cache
  for (std::int64_t r = 0; r < rows; r += kBlock)
    for (std::int64_t c = 0; c < columns; c += kBlock)
      for (std::int64_t row = r; row < std::min(rows, r + kBlock); ++row)
        for (std::int64_t column = c; column < std::min(columns, c + kBlock); ++column)
          if (!equal(row, column)) return false;
  return !is_uniform(a);
}

// PyTorch names parameters by their place in the network, and what it computed by a number.
bool has_own_name(const TensorProto& t) { return !t.name().starts_with("onnx::"); }

void add_transpose(GraphProto& graph, const std::string& from, const std::string& to) {
  NodeProto& node = *graph.add_node();
  node.set_op_type("Transpose");
  node.set_name(to + ".transpose");
  node.add_input(from);
  node.add_output(to);
}

using MatrixExtents = std::pair<std::int64_t, std::int64_t>;

struct Matrix {
  std::string name;
  ConstantData elements;
};

// The name of the matrix that each transposed copy came from.
std::map<std::string, std::string> sources_of_copies(const File& file, const GraphProto& graph) {
  std::set<std::string> inputs;  // old files list initializers there, too; a node must not define them again
  for (const ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  std::vector<const TensorProto*> candidates;
  std::set<MatrixExtents> extents;
  for (const TensorProto& t : graph.initializer())
    if (is_candidate(t)) candidates.push_back(&t), extents.emplace(t.dims(0), t.dims(1));
  std::ranges::stable_partition(candidates, [](const TensorProto* t) { return has_own_name(*t); });
  std::map<MatrixExtents, std::vector<Matrix>> kept;
  std::map<std::string, std::string> sources;
  for (const TensorProto* t : candidates) {
    if (!extents.contains({t->dims(1), t->dims(0)})) continue;  // most have no partner and are not read
    const std::optional<ConstantData> elements = floats_of(file, *t);
    if (!elements) continue;
    const std::vector<Matrix>& others = kept[{t->dims(1), t->dims(0)}];
    const auto source =
        std::ranges::find_if(others, [&](const Matrix& m) { return is_transpose(m.elements, *elements); });
    if (source != others.end() && !inputs.contains(t->name()))
      sources.emplace(t->name(), source->name);
    else
      kept[{t->dims(0), t->dims(1)}].push_back({t->name(), *elements});
  }
  return sources;
}

}  // namespace

void restore_transposes(const File& file, ModelProto& model) {
  GraphProto& graph = *model.mutable_graph();
  const std::map<std::string, std::string> sources = sources_of_copies(file, graph);
  auto& stored = *graph.mutable_initializer();
  for (int i = stored.size() - 1; i >= 0; --i)
    if (sources.contains(stored[i].name())) stored.DeleteSubrange(i, 1);
  for (const auto& [copy, source] : sources) add_transpose(graph, source, copy);
}

}  // namespace headroom::onnx
