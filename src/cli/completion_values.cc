#include "cli/completion_values.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <regex>

#include "base/text.h"

#include "data/known_datasets.h"
#include "machine/machine.h"
#include "models/zoo.h"
#include "ops/operator.h"
#include "ops/updates/updates.h"
#include "train/recipe.h"

namespace headroom::cli {
namespace {

using Words = std::vector<std::string>;

Words model_names() {
  Words names;
  for (const ZooEntry& entry : zoo()) names.push_back(entry.name);
  return names;
}

Words optimizer_names() {
  Words names;
  for (const UpdateRule* rule : update_rules()) names.emplace_back(rule->name);
  return names;
}

// Users name machines by files; names that a shell would interpret are left out.
Words known_machines() {
  Words names = machine_names();
  std::erase_if(names, [](const std::string& name) {
    return !std::all_of(name.begin(), name.end(),
                        [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; });
  });
  return names;
}

Words machines_and_here() {
  Words names = known_machines();
  if (std::find(names.begin(), names.end(), "here") == names.end()) names.insert(names.begin(), "here");
  return names;
}

Words operator_names(const std::string& end) {
  Words names;
  for (const Operator& op : operators()) names.push_back(op.schema.name + end);
  return names;
}

// Words of one option only. Empty: the option takes free text, which is not a path.
const std::map<std::string, Words>& fixed_words() {
  static const std::map<std::string, Words> words = {
      {"--device", {"cpu"}},
      {"--precision", {"fp32", "fp64"}},
      {"--layout", {"auto", "nchw", "nhwc"}},
      {"--mode", {"train", "eval"}},
      {"--set", {"course", "convnets", "layers"}},
      {"--schedule", {"constant", "step", "cosine", "exponential", "polynomial"}},
      {"--loss", {"cross_entropy", "squared_error", "reconstruction", "regression", "multi_label"}},
      {"--init", {"fan_in", "he", "xavier", "orthonormal", "normal", "uniform", "constant"}},
      {"--resize", {"edge", "zero"}},
      {"--pixels", {"raw", "scaled", "normalized"}},
      {"--augment", {"crop", "flip"}},
      {"shell", {"bash", "zsh", "fish"}},
      {"--batch", {}},
      {"--image-size", {}},
      {"--normalize", {}},
      {"--dim", {}},
      {"--fail-over", {}},
      {"--mirror", {}},
      {"--for", {}},
      {"--chart", {}},
      {"--live", {}},
      {"--live-address", {}},
      {"--live-token", {}},
      {"--live-keep", {}},
      {"--rung", {}},
      {"--workload", {"course", "course-2023", "homework", "ece408", "L1", "L2", "L3", "L4", "L5"}},
      {"--images", {}},
      {"--blocks", {}},
      {"--coarsen", {}},
      {"--wild", {"images:"}},
      // Lists of sweep and tta.
      {"--lr", {}},
      {"--l2", {}},
      {"--momentum", {}},
      {"--hidden", {}},
      {"--epochs", {}},
      {"--train-size", {}},
      {"--loader-threads", {}},
      {"--resident", {"on", "off"}},
      {"--pinned", {"on", "off"}},
      {"--overlap", {"on", "off"}},
  };
  return words;
}

}  // namespace

// The zoo describes options as "hidden=512 (256x128 for two layers), activation=sigmoid|tanh|relu".
Words model_option_words() {
  static const std::regex option("([a-z][a-z0-9_]*)=([A-Za-z0-9.|_]*)");
  Words words;
  for (const ZooEntry& entry : zoo())
    for (std::sregex_iterator it(entry.options.begin(), entry.options.end(), option), end; it != end; ++it) {
      const std::string choices = (*it)[2];
      const bool few = choices.find('|') != std::string::npos;
      for (const std::string& choice : few ? split(choices, '|') : Words{""})
        words.push_back(fmt::format("{}:{}={}", entry.name, (*it)[1].str(), choice));
    }
  return words;
}

Words kernel_words() {
  Words words;
  for (const Operator& op : operators())
    for (const Kernel& kernel : op.kernels)
      words.push_back(fmt::format("{}={}", op.schema.name, kernel.name));
  return words;
}

Values values_of(const std::string& verbs, const OptionTree& option) {
  if (!option.takes_value && !option.positional()) return {};
  const std::string& name = option.names.front();
  const bool lists = verbs == "sweep" || verbs == "tta";
  const auto named = [&](auto... names) { return ((name == names) || ...); };
  if (verbs == "roofline" && name == "--device") return {{"all", "cpu", "cuda"}};
  if (verbs == "machine show" && name == "name") return {known_machines(), true};
  if (verbs == "data fetch" && name == "name") return {{"mnist", "fashion-mnist", "cifar10"}};
  if (verbs == "data make" && name == "name") return {{"glyphs"}};
  if (name == "model") return {model_names(), true, false, "models"};
  if (name == "operator") return {operator_names("")};
  if (name == "--kernel") return {operator_names("="), false, false, "kernels"};
  if (name == "--machine") {
    Words names = machines_and_here();
    if (verbs == "predict") names.push_back("all");
    return {names, true, true};
  }
  if (named("--recipe", "recipe")) return {recipe_names(), true};
  if (name == "--data") return {dataset_names()};
  if (name == "--optimizer") return {optimizer_names(), false, lists};
  if (name == "--resume") return {lists ? Words{} : Words{"auto"}, true};
  if (const auto it = fixed_words().find(name); it != fixed_words().end())
    return {it->second, false, named("--augment") || (lists && !named("--wild"))};
  return {{}, !option.number};
}

}  // namespace headroom::cli
