#include "data/arrays.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "data/npy.h"
#include "data/targets.h"
#include "data/tensor_values.h"

namespace headroom {
namespace {

constexpr int kMaxAxes = 4;  // item, channel, row, column

struct Array {
  Shape shape;
  std::vector<float> values;
};

Array read_array(const std::string& path) {
  const NamedTensor tensor = read_npy(path);
  Array array{tensor.type.shape, {}};
  if (array.shape.rank() < 1 || array.shape.rank() > kMaxAxes)
    reject(Hint{"items along the first axis, then at most channels, rows and columns"},
           "{} is an array of {}, not of items", path, array.shape.str());
  const std::vector<double> values = values_of(tensor);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(static_cast<float>(values[i])))
      reject("{}: element {} is {}, not a number that fp32 holds", path, with_commas(std::int64_t(i)),
             values[i]);
  array.values.assign(values.begin(), values.end());
  return array;
}

// One item as channels x rows x columns.
Shape item_shape(const Shape& all) {
  std::vector<std::int64_t> item = all.without_first().vector();
  while (item.size() < 3) item.insert(item.begin(), 1);
  return Shape(item);
}

// Copies item `i` of `from` behind the others.
void append(std::vector<float>& to, const Array& from, std::int64_t i, std::int64_t each) {
  const auto first = from.values.begin() + i * each;
  to.insert(to.end(), first, first + each);
}

}  // namespace

Dataset read_arrays(const std::string& files) {
  const std::vector<std::string> paths = split(files, ',');
  if (paths.size() != 2 || paths[0].empty() || paths[1].empty())
    reject(Hint{"write `data` npy:INPUTS.npy,TARGETS.npy"}, "'npy:{}' does not name two files", files);
  const Array inputs = read_array(paths[0]), targets = read_array(paths[1]);
  const std::int64_t count = inputs.shape[0];
  if (targets.shape[0] != count)
    reject(Hint{"both hold one row per item"}, "{} has {} items, but {} has {}", paths[0], with_commas(count),
           paths[1], with_commas(targets.shape[0]));
  if (count < kTestEvery)
    reject(Hint{fmt::format("give at least {}", kTestEvery)},
           "{} has {}; every tenth is for testing, which leaves none", paths[0], counted(count, "item"));
  const std::int64_t each = targets.shape.numel() / count;
  require_targets(each, paths[1]);
  Dataset set{.name = "npy", .classes = static_cast<int>(each)};
  for (Split* split : {&set.train, &set.test})
    split->image = item_shape(inputs.shape), split->targets_each = each;
  for (std::int64_t i = 0; i < count; ++i) {
    Split& split = is_for_testing(i) ? set.test : set.train;
    append(split.values, inputs, i, split.image.numel());
    append(split.targets, targets, i, each);
    split.labels.push_back(0);
  }
  return set;
}

}  // namespace headroom
