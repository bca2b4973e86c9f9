#include "cli/command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <span>
#include <sstream>

#include "base/text.h"
#include "cli/options.h"
#include "comm/world.h"

namespace headroom::cli {
namespace {

// The verbs that take a command after "--", and where its words go.
std::map<const CLI::App*, std::vector<std::string>*>& commands_of_verbs() {
  static std::map<const CLI::App*, std::vector<std::string>*> commands;
  return commands;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

// The user's words so far: "headroom machine show".
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

// The parser would report a misspelt verb as an extra word, and a missing one as "a subcommand".
void require_verbs(const CLI::App& app, std::span<const std::string> typed) {
  const std::vector<std::string> names = verb_names(app);
  if (names.empty()) return;
  if (typed.empty())
    reject(Hint{fmt::format("{} {}", full_name(app), names.front())}, "'{}' needs a verb: {}", full_name(app),
           fmt::join(names, ", "));
  const std::string& word = typed.front();
  if (word.empty() || word.starts_with("-")) return;
  if (std::find(names.begin(), names.end(), word) == names.end())
    reject(nearest(word, names), "'{}' has no verb '{}'", full_name(app), word);
  require_verbs(*app.get_subcommand(word), typed.subspan(1));
}

const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.back());
}

Error unknown_word(const CLI::App& verb, const std::string& typed) {
  const std::string word = typed.substr(0, typed.find('='));
  if (!word.starts_with("-") && commands_of_verbs().contains(&verb))
    return {Blame::request, fmt::format("'{}' does not take the word '{}' here", full_name(verb), typed),
            Hint{fmt::format("write a command after two dashes: {} -- {}", full_name(verb), typed)}};
  if (!word.starts_with("-"))
    return {Blame::request, fmt::format("'{}' does not take the word '{}'", full_name(verb), typed),
            Hint{full_name(verb) + " --help"}};
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return {Blame::request, fmt::format("'{}' has no option '{}'", full_name(verb), word),
          nearest(word, names)};
}

// Rewrites the parser's messages ("Could not convert: --lr = fast", "--lr: 1 required FLOAT missing").
std::string reworded(const CLI::App& verb, const std::string& what) {
  constexpr std::string_view kConvert = "Could not convert: ";
  if (what.starts_with(kConvert)) {
    const std::size_t equals = what.find(" = ");
    const std::string name = what.substr(kConvert.size(), equals - kConvert.size());
    const CLI::Option* option = verb.get_option_no_throw(name);
    const std::string kind = option != nullptr ? option->get_type_name() : "";
    return fmt::format("{} is '{}', which is not {}", name,
                       equals == std::string::npos ? "" : what.substr(equals + 3),
                       kind == "FLOAT"  ? "a number"
                       : kind == "UINT" ? "a whole number from 0"
                                        : "a whole number in range");
  }
  constexpr std::string_view kTwice = ": At Most 1 required but received ";
  if (const std::size_t at = what.find(kTwice); at != std::string::npos)
    return fmt::format("{} was given {} times", what.substr(0, at), what.substr(at + kTwice.size()));
  if (what.ends_with(" missing")) return fmt::format("{} needs a value", what.substr(0, what.find(':')));
  constexpr std::string_view kRequired = " is required";
  if (what.ends_with(kRequired))
    return fmt::format("'{}' needs a {}", full_name(verb), what.substr(0, what.size() - kRequired.size()));
  return what;
}

// `--save "$OUT"` with OUT unset is a mistake: without an error the result would be lost silently.
void require_no_empty_word(std::span<const std::string> typed) {
  for (std::size_t i = 0; i < typed.size(); ++i)
    if (typed[i].empty() || (typed[i].starts_with("--") && typed[i].ends_with("=")))
      reject(Hint{"is it a shell variable that is not set?"}, "an empty word{}",
             i == 0 ? "" : fmt::format(" after '{}'", typed[typed[i].empty() ? i - 1 : i]));
}

// What is wrong with a whole number that the type cannot hold: the parser would wrap it, or take the largest.
template <class T>
std::string beyond(const std::string& text) {
  if (std::is_unsigned_v<T> && text.starts_with("-")) return fmt::format("{} must not be negative", text);
  T number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc::result_out_of_range) return "";
  return fmt::format("{} is out of range; it must lie between {} and {}", text, std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max());
}

// Cuts the command of a verb that takes one off the words, before anything looks at them.
std::span<const std::string> without_command(std::span<const std::string> typed) {
  const auto dashes = std::find(typed.begin(), typed.end(), "--");
  for (const auto& [verb, command] : commands_of_verbs()) {
    if (dashes == typed.end() || typed.front() != verb->get_name()) continue;
    command->assign(dashes + 1, typed.end());
    if (command->empty()) reject(Hint{full_name(*verb) + " -- sleep 1"}, "no command after '--'");
    return typed.first(static_cast<std::size_t>(dashes - typed.begin()));
  }
  return typed;
}

template <class T>
void add(CLI::App& app, const std::string& name, T& value, const std::string& help) {
  CLI::Option* option = app.add_option(name, value, help)->capture_default_str();
  if constexpr (std::is_integral_v<T>) option->check(beyond<T>);
}

}  // namespace

Command Command::verb(const std::string& name, const std::string& about) {
  app_->require_subcommand(app_->get_parent() == nullptr ? 0 : 1, 1);
  return Command(*app_->add_subcommand(name, about));
}

void Command::option(const std::string& name, std::string& value, const std::string& help) {
  CLI::Option* option = app_->add_option(name, value, help);
  if (!value.empty()) option->capture_default_str();
}
void Command::option(const std::string& name, int& value, const std::string& help) {
  add(*app_, name, value, help);
}
void Command::option(const std::string& name, double& value, const std::string& help) {
  add(*app_, name, value, help);
}
void Command::option(const std::string& name, std::int64_t& value, const std::string& help) {
  add(*app_, name, value, help);
}
void Command::option(const std::string& name, std::uint64_t& value, const std::string& help) {
  app_->add_option(name, value, help)->capture_default_str()->check(beyond<std::uint64_t>);
}
void Command::option(const std::string& name, std::vector<std::string>& value, const std::string& help) {
  app_->add_option(name, value, help);
}
void Command::option(const std::string& name, std::optional<std::int64_t>& value, const std::string& help) {
  app_->add_option(name, value, help)->check(beyond<std::int64_t>);
}
void Command::option(const std::string& name, std::optional<double>& value, const std::string& help) {
  app_->add_option(name, value, help);
}
void Command::replace(const std::string& name, std::string& value, const std::string& help) {
  app_->remove_option(app_->get_option(name));
  option(name, value, help);
}
void Command::option_with_optional_value(const std::string& name, const std::string& value_name,
                                         std::optional<std::string>& value, const std::string& help) {
  app_->add_option_function<std::string>(
          name, [&value](const std::string& text) { value = text; }, help)
      ->expected(0, 1)
      ->type_name(value_name);
}
void Command::required(const std::string& name, std::string& value, const std::string& help) {
  app_->add_option(name, value, help)->required();
}
void Command::flag(const std::string& name, bool& value, const std::string& help) {
  app_->add_flag(name, value, help);
}
void Command::flag(const std::string& name, std::optional<bool>& value, const std::string& help) {
  // Uses a function: the parser would set false if the user gave no value.
  app_->add_flag_function(
      name, [&value](std::int64_t count) { value = count > 0; }, help);
}

bool Command::given(const std::string& name) const {
  const CLI::Option* option = app_->get_option_no_throw(name);
  return option != nullptr && option->count() > 0;
}

void Command::takes_command(std::vector<std::string>& words) { commands_of_verbs()[app_] = &words; }

void Command::example(const std::string& command) {
  const std::string before = app_->get_footer();
  app_->footer(before.empty() ? "Example:\n  " + command : before + "\n  " + command);
}

void Command::runs(std::function<void()> body) {
  app_->callback([body = std::move(body)] {
    if (launched_rank() == 0) body();
  });
}
void Command::runs_on_ranks(std::function<void()> body) { app_->callback(std::move(body)); }

VerbTree Command::tree() const {
  VerbTree verb{app_->get_name(), app_->get_description(), {}, {}};
  for (const CLI::Option* option : app_->get_options()) {
    OptionTree& o = verb.options.emplace_back();
    if (option->get_positional()) o.names.push_back(option->get_single_name());
    for (const std::string& name : option->get_lnames()) o.names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) o.names.push_back("-" + name);
    o.help = option->get_description();
    o.takes_value = option->get_expected_max() > 0;  // 0 for flags
    const std::string type = option->get_type_name();
    o.number = type.starts_with("INT") || type.starts_with("UINT") || type.starts_with("FLOAT");
  }
  if (commands_of_verbs().contains(app_))
    verb.options.push_back({{"command"}, "the command, after --", true, false});
  for (CLI::App* below : app_->get_subcommands([](CLI::App*) { return true; }))
    verb.verbs.push_back(Command(*below).tree());
  return verb;
}

void parse(const std::vector<std::string>& words, const std::string& about,
           const std::function<std::string()>& version, const std::vector<VerbEntry>& verbs) {
  CLI::App app(about, "headroom");
  app.set_version_flag("--version", version);
  const std::string first = words.size() > 1 ? words[1] : "";
  const auto named = std::ranges::find_if(verbs, [&](const VerbEntry& verb) { return verb.name == first; });
  if (named != verbs.end() && !named->needs_others) {
    named->add(Command(app));
    static_cast<void>(app.get_subcommand(named->name));  // throws if it is called otherwise
  } else if (first != "--version") {
    for (const VerbEntry& verb : verbs) verb.add(Command(app));
  }
  const std::span<const std::string> typed = without_command(std::span(words).subspan(1));
  require_verbs(app, typed);
  require_no_empty_word(typed);
  try {
    std::vector<std::string> reversed(typed.rbegin(), typed.rend());  // the parser takes words from the back
    app.parse(std::move(reversed));
    if (app.get_subcommands().empty()) print(app.help());  // "headroom --"
  } catch (const CLI::Success& success) {                  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    print(text.str());
  } catch (const CLI::ParseError& error) {
    const CLI::App& verb = deepest(app);
    if (dynamic_cast<const CLI::ExtrasError*>(&error) && !verb.remaining().empty())
      throw unknown_word(verb, verb.remaining().front());
    throw Error(Blame::request, reworded(verb, error.what()), Hint{full_name(verb) + " --help"});
  }
}

}  // namespace headroom::cli
