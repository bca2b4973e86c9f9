#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace headroom::cli {

// The command line as data, for help and completion scripts.
struct OptionTree {
  std::vector<std::string> names;  // "--lr", "-h"; a positional word has no dashes: "model"
  std::string help;
  bool takes_value = false, number = false;
  bool positional() const { return !names.empty() && names[0].front() != '-'; }
};
struct VerbTree {
  std::string name, about;
  std::vector<OptionTree> options;  // in the order they were added
  std::vector<VerbTree> verbs;
};

// A verb of the command line. Hides the parsing library, whose header takes seconds to compile: only
// command.cc includes it.
class Command {
 public:
  explicit Command(CLI::App& app) : app_(&app) {}

  Command verb(const std::string& name, const std::string& about);  // a verb below this one

  // "--lr" is an option, "model" a positional word. The current value is the default.
  void option(const std::string& name, std::string& value, const std::string& help);
  void option(const std::string& name, int& value, const std::string& help);
  void option(const std::string& name, double& value, const std::string& help);
  void option(const std::string& name, std::int64_t& value, const std::string& help);
  void option(const std::string& name, std::uint64_t& value, const std::string& help);
  void option(const std::string& name, std::vector<std::string>& value, const std::string& help);
  void option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help);
  void option(const std::string& name, std::optional<double>& value, const std::string& help);
  // The same instead of an option that is there: as a list where another verb takes one value.
  void replace(const std::string& name, std::string& value, const std::string& help);
  // "--live" or "--live 8080": without a value an empty text. `value_name` is for the help: "[PORT]".
  void option_with_optional_value(const std::string& name, const std::string& value_name,
                                  std::optional<std::string>& value, const std::string& help);
  void required(const std::string& name, std::string& value, const std::string& help);
  void flag(const std::string& name, bool& value, const std::string& help);
  // "--x,!--no-x"; stays empty if the user gives neither.
  void flag(const std::string& name, std::optional<bool>& value, const std::string& help);

  // Whether the words had this option or flag, also with its default as the value. Once they are parsed.
  bool given(const std::string& name) const;

  // The words after "--" are a command for the verb to start; they reach `words` untouched.
  void takes_command(std::vector<std::string>& words);

  void example(const std::string& command);  // under the verb's help
  // The action of the verb. Under mpirun only the first rank runs it, unless the verb uses ranks.
  void runs(std::function<void()> body);
  void runs_on_ranks(std::function<void()> body);

  VerbTree tree() const;  // this verb and all below it

 private:
  CLI::App* app_;
};

struct VerbEntry {
  const char* name;
  void (*add)(Command);  // a verb of that name
  bool needs_others = false;
};

// Parses the words and runs the verb they name. The options of other verbs are not even added, unless it
// needs them: there are hundreds, and adding them takes tens of milliseconds. A wrong word is an Error that
// suggests the nearest right one.
// --help and --version print.
void parse(const std::vector<std::string>& words, const std::string& about,
           const std::function<std::string()>& version, const std::vector<VerbEntry>& verbs);

}  // namespace headroom::cli
