#include "train/recipe.h"

#include "base/embedded.h"
#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

Recipe parse_recipe(std::string_view name, std::string_view text) {
  const Json json = parse_object(text, fmt::format("recipe '{}'", name));
  Recipe r;
  r.name = name;
  r.title = json.value("title", "");
  r.source = json.value("source", "");
  r.model = json.at("model");
  r.data = json.at("data");
  r.train_size = json.value("train_size", std::int64_t{0});
  r.test_size = json.value("test_size", std::int64_t{0});
  r.validation_tail = json.value("validation_tail", std::int64_t{0});
  r.batch = json.at("batch");
  r.epochs = json.at("epochs");
  r.lr = json.at("lr");
  r.l2 = json.value("l2", 0.0);
  r.momentum = json.value("momentum", 0.0);
  r.optimizer = json.value("optimizer", r.optimizer);
  r.schedule = json.value("schedule", r.schedule);
  r.shuffle = json.value("shuffle", true);
  r.kernels_fp32 = json.value("kernels_fp32", r.kernels_fp32);
  r.initial = json.value("initial", "");
  if (json.value("pixels", "scaled") == "raw") r.preprocess = Preprocess::raw();
  if (json.contains("published"))
    for (const auto& [key, value] : json["published"].items()) r.published[key] = value.get<double>();
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
    if (file.name == name) return parse_recipe(name, file.text);
  reject(nearest(name, recipe_names()), "unknown recipe '{}'", name);
}

// Layer i of the course draws 0.01 * normal from a generator seeded with i; biases are zero.
void apply_initial(const Recipe& recipe, Net& net) {
  if (recipe.initial.empty()) return;
  if (recipe.initial != "course")
    fail("recipe '{}' asks for unknown initial weights '{}'", recipe.name, recipe.initial);
  std::int64_t index = 0;
  for (Layer& layer : net.layers) {
    if (layer.type != "linear") continue;
    layer.options.set("init", std::string("course"));
    layer.options.set("init_scale", 0.01);
    layer.options.set("init_index", index++);
  }
}

}  // namespace headroom
