#include "api/data_impl.h"

#include <algorithm>

#include "base/error.h"
#include "data/known_datasets.h"

namespace headroom {
namespace {

Shape item_shape(const std::vector<std::int64_t>& shape) {
  if (shape.size() != 1 && shape.size() != 3)
    reject(Hint{"write {1, 28, 28} or {784}"},
           "an item has channels, height and width, or one extent; not {} of them", shape.size());
  for (const std::int64_t extent : shape)
    if (extent < 1) reject("an item cannot have an extent of {}", extent);
  return Shape(shape);
}

// The number of items; both ways of counting must agree.
std::size_t count_of(const Items& items, const Shape& shape, const char* what) {
  if (!items.pixels.empty() && !items.values.empty())
    reject("the {} items have both pixels and values; give one of the two", what);
  const std::size_t elements = std::max(items.pixels.size(), items.values.size());
  const auto each = static_cast<std::size_t>(shape.numel());
  if (elements % each != 0)
    reject("{} {} elements do not make items of {}, which have {} each", elements, what, shape.str(), each);
  if (!items.labels.empty() && items.labels.size() != elements / each)
    reject("there are {} {} items, but {} labels", elements / each, what, items.labels.size());
  return elements / each;
}

Split split_of(const Items& items, const Shape& shape, const char* what) {
  Split split;
  split.image = shape;
  split.labels.assign(items.labels.begin(), items.labels.end());
  split.labels.resize(count_of(items, shape, what));
  split.pixels.assign(items.pixels.begin(), items.pixels.end());
  split.values.assign(items.values.begin(), items.values.end());
  return split;
}

int classes_in(const Dataset& set) {
  int classes = 0;
  for (const Split* split : {&set.train, &set.test})
    for (const std::uint8_t label : split->labels) classes = std::max(classes, label + 1);
  return classes;
}

}  // namespace

const std::string& Data::name() const { return impl_->set.name; }
const std::vector<std::int64_t>& Data::shape() const { return impl_->shape; }
int Data::classes() const { return impl_->set.classes; }
std::vector<std::string> Data::class_names() const { return impl_->set.class_names; }
std::int64_t Data::train_count() const { return impl_->set.train.count(); }
std::int64_t Data::test_count() const { return impl_->set.test.count(); }
std::span<const std::uint8_t> Data::test_pixels() const { return impl_->set.test.pixels; }
std::span<const std::uint8_t> Data::test_labels() const { return impl_->set.test.labels; }

Data load_data(const std::string& name, const DataSettings& settings) {
  DataOptions options{.dir = settings.dir,
                      .train_size = settings.train_size,
                      .test_size = settings.test_size,
                      .seed = settings.seed,
                      .context = settings.context};
  if (!settings.image_size.empty()) parse_image_size(settings.image_size, options);
  auto impl = std::make_shared<Data::Impl>();
  impl->preprocess = parse_preprocess(settings.pixels, settings.normalize, usual_preprocess(name));
  impl->set = load_dataset(name, options);
  impl->shape = impl->set.test.image.vector();
  return Data(std::move(impl));
}

Data make_data(const std::vector<std::int64_t>& shape, const Items& train, const Items& test,
               const ItemSettings& settings) {
  const Shape item = item_shape(shape);
  auto impl = std::make_shared<Data::Impl>();
  impl->shape = shape;
  impl->preprocess = parse_preprocess(settings.pixels, settings.normalize, usual_preprocess(settings.name));
  impl->set.name = settings.name;
  impl->set.train = split_of(train, item, "training");
  impl->set.test = split_of(test, item, "test");
  if (impl->set.train.count() == 0 && impl->set.test.count() == 0)
    reject("data '{}' has no items", settings.name);
  const int found = classes_in(impl->set);
  impl->set.classes = settings.classes == 0 ? found : settings.classes;
  if (settings.classes < 0 || settings.classes > kMaxClasses || found > impl->set.classes)
    reject("data '{}' has labels up to {}, too many for {} classes; the max is {}", settings.name, found - 1,
           settings.classes, kMaxClasses);
  return Data(std::move(impl));
}

}  // namespace headroom
