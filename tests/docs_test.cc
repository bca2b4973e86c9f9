// Everything the documents mention exists: paths, links, commands, lists, examples, and the run record's
// schema.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>

#include "base/embedded.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "data/known_datasets.h"
#include "device/device.h"
#include "headroom/net.h"
#include "machine/machine.h"
#include "models/layers.h"
#include "models/zoo.h"
#include "ops/operator.h"
#include "schema_check.h"
#include "train/program.h"
#include "train/recipe.h"

namespace headroom::testing {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = HEADROOM_SOURCE_DIR;

std::string document(const std::string& name) { return read_file(kRoot / name); }

std::vector<fs::path> documents() {
  std::vector<fs::path> list = {kRoot / "README.md", kRoot / "examples/README.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs"))
    if (entry.path().extension() == ".md") list.push_back(entry.path());
  for (const auto& entry : fs::directory_iterator(kRoot / "examples"))
    if (const fs::path readme = entry.path() / "README.md"; fs::exists(readme)) list.push_back(readme);
  return list;
}

// All matches of the first group.
std::vector<std::string> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> list;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    list.push_back((*it)[1]);
  return list;
}

std::vector<std::string> in_backticks(const std::string& text) { return matches(text, "`([^`\n]+)`"); }

// The text of the n-th fenced block of a language.
std::string block(const std::string& text, const std::string& language, int number = 0) {
  std::size_t at = 0;
  const std::string fence = "```" + language + "\n";
  for (int i = 0; i <= number; ++i) {
    at = text.find(fence, at);
    if (at == std::string::npos) return {};
    at += fence.size();
  }
  return text.substr(at, text.find("```", at) - at);
}

struct ExampleOutcome {
  int code = -1;
  std::string output;
};

ExampleOutcome headroom_says(const std::string& arguments) {
  ExampleOutcome outcome;
  FILE* pipe = ::popen((std::string(HEADROOM_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char piece[4096];
  for (std::size_t n; (n = std::fread(piece, 1, sizeof piece, pipe)) > 0;) outcome.output.append(piece, n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

// A cache with a made-up measurement of this machine: these tests do not depend on its ceilings.
class DocsRun : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    ::setenv("HEADROOM_CACHE", folder_.c_str(), 1);
    save_machine({.name = "here",
                  .title = cpu_capabilities(1).name + ", 1 thread",
                  .kind = "cpu",
                  .measured = true,
                  .peak_flops = {{"fp32", 1e13}, {"fp64", 1e13}},
                  .levels = {{"memory", 1e12, 1e13}},
                  .launch = {.host_s = 1e-6},
                  .cores = 1});
  }
  void TearDown() override {
    ::unsetenv("HEADROOM_CACHE");
    fs::remove_all(folder_);
  }
  const fs::path folder_ = fs::path(::testing::TempDir()) / fmt::format("headroom-docs-{}", ::getpid());
};

TEST(Docs, EveryPathOfTheMapExists) {
  const std::regex path(
      "(src|include|tests|cmake|scripts|docs|machines|recipes|examples)/.*|Makefile|.*Presets.json");
  int checked = 0;
  for (const std::string& word : in_backticks(document("docs/map.md"))) {
    if (!std::regex_match(word, path)) continue;
    EXPECT_TRUE(fs::exists(kRoot / word)) << word;
    ++checked;
  }
  EXPECT_GT(checked, 40);
}

TEST(Docs, EveryLinkLeadsSomewhere) {
  for (const fs::path& file : documents())
    for (const std::string& link : matches(read_file(file), R"(\]\(([^)#]+)\))")) {
      if (!link.starts_with("http")) {
        EXPECT_TRUE(fs::exists(file.parent_path() / link)) << file << ": " << link;
      }
    }
}

// The order of the map's first table is the order of the layers of the code.
TEST(Docs, FoldersIncludeOnlyThoseAboveThem) {
  const auto floors = matches(document("docs/map.md"), R"(\| `src/([a-z]+)/` \|)");
  std::vector<std::string> folders;
  for (const auto& entry : fs::directory_iterator(kRoot / "src")) folders.push_back(entry.path().filename());
  auto floor_of = [&](const std::string& name) {
    return std::find(floors.begin(), floors.end(), name) - floors.begin();
  };
  for (const std::string& folder : folders) {
    EXPECT_LT(floor_of(folder), std::ssize(floors)) << folder << " is not on the map";
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src" / folder)) {
      if (!entry.is_regular_file() || entry.path().string().ends_with("_test.cc")) continue;
      for (const std::string& other : matches(read_file(entry.path()), "#include \"([a-z]+)/")) {
        if (other != "headroom") {
          EXPECT_LE(floor_of(other), floor_of(folder)) << entry.path();
        }
      }
    }
  }
}

// An error below the command line names a setting, `batch`; only the command line turns it into an option.
TEST(Docs, TextsBelowTheCommandLineNameNoOptions) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    const std::string path = entry.path().string();
    const bool source = path.ends_with(".cc") || path.ends_with(".h") || path.ends_with(".cu");
    if (!source || path.ends_with("_test.cc") || path.find("/src/cli/") != std::string::npos) continue;
    EXPECT_EQ(matches(read_file(path), R"(("[^"\n]*--[a-z][^"\n]*"))"), std::vector<std::string>{}) << path;
    ++files;
  }
  EXPECT_GT(files, 400);
}

// The parts of a source that stand in unnamed namespaces.
std::string unnamed_parts(const std::string& source) {
  constexpr std::string_view kBegin = "\nnamespace {\n", kEnd = "\n}  // namespace\n";
  std::string parts = "\n";
  for (std::size_t at = 0; (at = source.find(kBegin, at)) != source.npos;) {
    const std::size_t end = std::min(source.find(kEnd, at), source.size());
    parts += source.substr(at + kBegin.size(), end - at - kBegin.size()) + "\n";
    at = end;
  }
  return parts;
}

// Files of a folder compile together. There a function in an unnamed namespace would hide one of the same
// name that a header of the folder declares, without a word from the compiler.
TEST(Sources, UnnamedFunctionsHideNoneOfTheirFoldersHeaders) {
  const std::string function = R"(\n[A-Za-z][\w:<>,&* ]* [*&]?([a-z]\w*)\()";
  std::map<std::string, std::set<std::string>> declared;  // by folder
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src")) {
    const std::string path = entry.path().string();
    if (path.ends_with(".h"))
      for (const std::string& name : matches(read_file(path), function))
        declared[entry.path().parent_path().string()].insert(name);
    const bool apart = path.ends_with("_test.cc") || path.find("/src/ops/") != std::string::npos;
    if (path.ends_with(".cc") && !apart) sources.push_back(entry.path());
  }
  int functions = 0;
  for (const fs::path& path : sources)
    for (const std::string& name : matches(unnamed_parts(read_file(path)), function)) {
      EXPECT_FALSE(declared[path.parent_path().string()].contains(name)) << path << ": " << name;
      ++functions;
    }
  EXPECT_GT(functions, 300);
}

// CMakeLists.txt leaves src/ops/X/cuda.cc and cuda_*.cc out where there is no CUDA toolkit: a kernel
// described there is missing from its list then. Descriptions belong to src/ops/X/cuda/.
TEST(Sources, KernelsAreDescribedWhereABuildWithoutCudaFindsThem) {
  int seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kRoot / "src/ops")) {
    const std::string name = entry.path().filename().string();
    if (!std::regex_match(name, std::regex("cuda(_.*)?\\.cc"))) continue;
    ++seen;
    const std::string text = read_file(entry.path());
    EXPECT_FALSE(std::regex_search(text, std::regex("Kernel [a-z0-9_]+\\(\\) \\{"))) << entry.path();
    EXPECT_EQ(text.find("HEADROOM_HAS_CUDA"), std::string::npos) << entry.path();
  }
  EXPECT_GT(seen, 10);
}

// `$ headroom verb [subverb] … --option`: the verb's own help must list them all.
TEST(Docs, EveryCommandIsKnown) {
  int checked = 0;
  for (const fs::path& file : documents())
    for (const std::string& line : matches(read_file(file), R"((?:^|\n)\$ headroom ([^\n]+))")) {
      std::vector<std::string> words = split(line, ' ');
      std::string verb = words[0];
      ExampleOutcome help = headroom_says(verb + " --help");
      if (help.output.find("Subcommands:") != std::string::npos) {
        ASSERT_GT(words.size(), 1u) << line;
        verb += " " + words[1];
        EXPECT_TRUE(std::regex_search(help.output, std::regex("\n  " + words[1] + " "))) << line;
        help = headroom_says(verb + " --help");
      }
      EXPECT_EQ(help.code, 0) << file << ": " << line << "\n" << help.output;
      for (const std::string& word : words) {
        if (word == "--") break;  // the options of another command
        if (word.starts_with("-")) {
          EXPECT_TRUE(std::regex_search(help.output, std::regex("[ ,]" + word + "[ ,{\n]"))) << line;
        }
      }
      ++checked;
    }
  EXPECT_GT(checked, 12);
}

TEST(Docs, EveryOperatorIsListedWithItsKernels) {
  const auto rows = matches(document("docs/operators.md"), "\n\\| (`[^\n]*) \\|");
  for (const Operator& op : operators()) {
    std::vector<std::string> kernels, listed;
    for (const Kernel& kernel : op.kernels)
      if (kernel.name != "reference") kernels.emplace_back(kernel.name);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const std::string& text) {
      return split(text, '|')[0].find("`" + op.schema.name + "`") != std::string::npos;
    });
    if (row == rows.end()) {
      ADD_FAILURE() << "a row is missing: | `" << op.schema.name << "` | | `"
                    << fmt::format("{}", fmt::join(kernels, "`, `")) << "` | " << (op.exact ? "yes |" : "|");
      continue;
    }
    const std::vector<std::string> cells = split(*row, '|');
    ASSERT_EQ(cells.size(), 4u) << *row;
    EXPECT_EQ(in_backticks(cells[2]), kernels) << op.schema.name;
    EXPECT_EQ(cells[3].find("yes") != std::string::npos, op.exact) << op.schema.name;
  }
}

TEST(Docs, EveryRecipeMachineAndDataSetIsCounted) {
  const std::string recipes = document("docs/recipes.md"), readme = document("README.md");
  for (const std::string& name : recipe_names())
    EXPECT_NE(recipes.find("`" + name + "`"), std::string::npos) << name;
  for (const DatasetInfo& info : known_datasets())
    EXPECT_NE(document("docs/data.md").find("`" + info.name + "`"), std::string::npos) << info.name;
  EXPECT_NE(readme.find(fmt::format("{} recipes", recipe_names().size())), std::string::npos);
  EXPECT_NE(readme.find(fmt::format("table of {} machines", embedded_machines().size())), std::string::npos);
}

TEST(Docs, EveryLayerOptionIsDescribed) {
  const std::string text = document("docs/net-json.md");
  for (const char* type :
       {"conv2d", "linear", "max_pool", "avg_pool", "relu", "sigmoid", "tanh", "softmax", "flatten", "add"}) {
    EXPECT_NE(text.find(fmt::format("**`{}`**", type)), std::string::npos) << type;
    for (const OptionSpec& option : layer_type(type).options)
      EXPECT_NE(text.find(fmt::format("`{}`", option.name)), std::string::npos) << option.name;
  }
}

TEST(Docs, ExampleNetworksAreWhatTheySay) {
  const std::string text = document("docs/net-json.md");
  EXPECT_EQ(to_json_text(parse_net(block(text, "json"), "doc")), to_json_text(find_net("lenet5")));
  const Net branch = parse_net(block(text, "json", 1), "doc");
  EXPECT_GT(make_program(branch, {.mode = Mode::train, .batch = 4}).graph.nodes().size(), 10u);
  EXPECT_EQ(block(document("README.md"), "json"), document("examples/tiny-net.json"));
}

// The package test compiles and runs these two.
TEST(Docs, ExamplesInCppAreTheOnesThatAreCompiled) {
  EXPECT_EQ(block(document("README.md"), "cpp"), document("examples/api/small.cc"));
  EXPECT_EQ(block(document("docs/api.md"), "cpp"), document("examples/api/main.cc"));
}

// The sample page carries all it needs. It has to be made again when the style or a script changes.
TEST(Docs, TheSamplePageLooksAsPagesDoNow) {
  const std::string page = document("docs/sample-report.html");
  for (const auto& entry : std::filesystem::directory_iterator(kRoot / "web"))
    EXPECT_NE(page.find(read_file(entry.path())), std::string::npos) << entry.path().filename();
}

TEST(Docs, EveryPublicHeaderIsDescribed) {
  const std::string text = document("docs/api.md"), all = document("include/headroom/headroom.h");
  for (const auto& entry : fs::directory_iterator(kRoot / "include/headroom")) {
    const std::string name = "headroom/" + entry.path().filename().string();
    EXPECT_NE(text.find("`" + name + "`"), std::string::npos) << name;
    for (const std::string& included : matches(read_file(entry.path()), "#include \"([^\"]+)\""))
      EXPECT_TRUE(included.starts_with("headroom/")) << name << " includes " << included;
    if (name != "headroom/headroom.h" && name != "headroom/attrs.h") {  // net.h includes attrs.h
      EXPECT_NE(all.find("\"" + name + "\""), std::string::npos) << name;
    }
  }
}

TEST_F(DocsRun, TheExampleTrainsAndItsRecordFitsTheSchema) {
  const fs::path record = folder_ / "record.json";
  const ExampleOutcome outcome =
      headroom_says(fmt::format("train {} --train-size 256 --test-size 64 --threads 1 --record {}",
                                (kRoot / "examples/tiny-net.json").string(), record.string()));
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const Json schema = Json::parse(document("docs/run-record.schema.json"));
  Json written = Json::parse(read_file(record));
  std::vector<std::string> wrong;
  check_schema(schema, written, "record", wrong);
  EXPECT_TRUE(wrong.empty()) << fmt::format("{}", fmt::join(wrong, "\n"));

  // In the other direction: a key without a description is missing in the schema.
  for (const auto& [key, value] : written.items()) {
    EXPECT_TRUE(schema["properties"].contains(key)) << key;
    if (!value.is_object()) continue;
    for (const auto& [inner, unused] : value.items())
      EXPECT_TRUE(schema["properties"][key]["properties"].contains(inner)) << key << "." << inner;
  }

  for (const char* path : {"/plan/steps/0/kernel", "/measurement/step_ms/p10", "/curve/0/accuracy/test",
                           "/prediction/steps/0/bound", "/memory/alive/0/kind", "/model/net/input",
                           "/measurement/layers/0/update_ms"}) {
    const Json::json_pointer pointer(path);
    Json damaged = written;
    damaged[pointer.parent_pointer()].erase(pointer.back());
    wrong.clear();
    check_schema(schema, damaged, "record", wrong);
    EXPECT_FALSE(wrong.empty()) << path;
  }
}

}  // namespace
}  // namespace headroom::testing
