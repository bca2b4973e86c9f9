#include "train/recipe.h"

#include <algorithm>
#include <type_traits>

#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

const std::vector<std::string> kKeys = {
    "title",   "source",       "model",   "data",   "train_size", "test_size", "validation_tail",
    "batch",   "epochs",       "lr",      "l2",     "momentum",   "optimizer", "schedule",
    "shuffle", "kernels_fp32", "initial", "pixels", "published",  "augment",   "target"};

// Reads one recipe; errors name the file and the key.
class Reader {
 public:
  Reader(const Json& json, const std::string& origin) : json_(json), origin_(origin) {
    for (const auto& [key, value] : json.items())
      if (std::ranges::find(kKeys, key) == kKeys.end())
        reject(nearest(key, kKeys), "{}: unknown key '{}'", origin_, key);
  }
  template <class T>
  void read(const char* key, T& value, bool needed = false) const {
    if (!json_.contains(key)) {
      if (needed)
        reject(Hint{"a recipe needs model, data, batch, epochs and lr"}, "{}: \"{}\" is missing", origin_,
               key);
      return;
    }
    const Json& found = json_.at(key);
    const bool whole = std::is_same_v<T, std::int64_t>;
    try {
      if (whole && !found.is_number_integer()) throw std::invalid_argument(key);
      value = found.get<T>();
    } catch (const std::exception&) {
      reject(Hint{"headroom recipe show lenet5-mnist prints an example"}, "{}: \"{}\" must be {}, not {}",
             origin_, key, kind_of<T>(), found.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }

 private:
  template <class T>
  static const char* kind_of() {
    if constexpr (std::is_same_v<T, std::int64_t>) return "a whole number";
    if constexpr (std::is_same_v<T, double>) return "a number";
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_same_v<T, std::string>) return "a text";
    if constexpr (std::is_same_v<T, std::vector<std::string>>) return "a list of texts";
    return "an object of numbers";
  }
  const Json& json_;
  const std::string& origin_;
};

Recipe parse_recipe(std::string_view name, std::string_view text, const std::string& origin) {
  const Json json = parse_object(text, origin, Hint{"headroom recipe show lenet5-mnist prints an example"});
  const Reader reader(json, origin);
  Recipe r;
  r.name = name;
  std::string pixels = "scaled";
  reader.read("title", r.title), reader.read("source", r.source);
  reader.read("model", r.model, true), reader.read("data", r.data, true);
  reader.read("train_size", r.train_size), reader.read("test_size", r.test_size);
  reader.read("validation_tail", r.validation_tail);
  reader.read("batch", r.batch, true), reader.read("epochs", r.epochs, true);
  reader.read("lr", r.lr, true), reader.read("l2", r.l2), reader.read("momentum", r.momentum);
  reader.read("optimizer", r.optimizer), reader.read("schedule", r.schedule);
  reader.read("augment", r.augment), reader.read("target", r.target);
  reader.read("shuffle", r.shuffle), reader.read("kernels_fp32", r.kernels_fp32);
  reader.read("initial", r.initial), reader.read("pixels", pixels), reader.read("published", r.published);
  const std::vector<std::string> kinds = {"scaled", "raw"};
  if (std::ranges::find(kinds, pixels) == kinds.end())
    reject(nearest(pixels, kinds), "{}: unknown pixels '{}'", origin, pixels);
  if (pixels == "raw") r.preprocess = Preprocess::raw();
  if (!r.initial.empty() && r.initial != "course")
    reject(nearest(r.initial, std::vector<std::string>{"course"}), "{}: unknown initial weights '{}'", origin,
           r.initial);
  return r;
}

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const EmbeddedFile& file : embedded_recipes()) names.emplace_back(file.name);
  return names;
}

Recipe find_recipe(std::string_view name) {
  for (const EmbeddedFile& file : embedded_recipes())
    if (file.name == name) return parse_recipe(name, file.text, fmt::format("recipe '{}'", name));
  if (name.ends_with(".json")) return parse_recipe(name, read_file(name), std::string(name));
  reject(nearest(name, recipe_names()), "unknown recipe '{}'", name);
}

std::string recipe_text(std::string_view name) {
  find_recipe(name);  // rejects what cannot be used
  for (const EmbeddedFile& file : embedded_recipes())
    if (file.name == name) return std::string(file.text);
  return read_file(name);
}

// Layer i of the course draws 0.01 * normal from a generator seeded with i; biases are zero.
void apply_initial(const Recipe& recipe, Net& net) {
  if (recipe.initial.empty()) return;
  std::int64_t index = 0;
  for (Layer& layer : net.layers) {
    if (layer.type != "linear") continue;
    layer.options.set("init", std::string("course"));
    layer.options.set("init_scale", 0.01);
    layer.options.set("init_index", index++);
  }
}

}  // namespace headroom
