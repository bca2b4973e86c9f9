#include "ops/gap/gap.h"

#include "base/text.h"

namespace headroom {
namespace gap_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>&, const Attrs& attrs) {
  const std::vector<std::int64_t> shapes = attrs.integers("shapes");
  std::vector<TensorType> results;
  std::size_t at = 0;
  for (const std::string& name : split(attrs.text("dtypes"), ',')) {
    const std::optional<DType> dtype = parse_dtype(name);
    const std::int64_t rank = at < shapes.size() ? shapes[at++] : -1;
    if (!dtype || rank < 0 || rank > Shape::kMaxRank || std::cmp_less(shapes.size() - at, rank))
      reject("gap: 'shapes' and 'dtypes' do not describe its results");
    const auto first = shapes.begin() + static_cast<std::ptrdiff_t>(at);
    results.push_back({Shape(std::vector<std::int64_t>(first, first + rank)), *dtype});
    at += static_cast<std::size_t>(rank);
  }
  return results;
}

}  // namespace
}  // namespace gap_cc

std::vector<Operator> gap_operators() {
  using namespace gap_cc;
  return {{.schema = {.name = "gap", .infer = infer, .cost = traffic}, .kernels = {}, .cases = {}}};
}

}  // namespace headroom
