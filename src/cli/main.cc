// The only code that prints or exits. Exit codes: 0 done, 1 the run failed, 2 the request was wrong.
#include <omp.h>

#include <cstdio>
#include <cstdlib>
#include <span>

#include "base/text.h"
#include "base/version.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "ops/cpu/gemm.h"

namespace headroom::cli {
namespace {

std::vector<std::string> words;

constexpr const char* kWelcome =
    "headroom: train and run neural networks, and see how far from the hardware's limit they are.\n"
    "\n"
    "Three things to try:\n"
    "  headroom demo                                   train LeNet-5 on embedded digits, layer by layer\n"
    "  headroom predict lenet5 --machine here,h200     what it must cost at the least, here and elsewhere\n"
    "  headroom roofline                               measure the ceilings of this machine\n"
    "\n"
    "headroom --help lists every verb.\n";

std::string version_text() {
  return fmt::format(
      "headroom {} (commit {})\ncompiler  {}, {}\nBLAS      {}\nthreads   OpenMP {}, {} here\n", version(),
      commit(), compiler(), build_type(), blas_version(), _OPENMP, omp_get_max_threads());
}

int report(const Error& error) {
  note(fmt::format("headroom: {}\n", error.what()));
  if (!error.hint().empty()) note(fmt::format("  {}\n", error.hint()));
  return error.blame() == Blame::request ? 2 : 1;
}

std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

// "headroom machine show": what the user typed to get here.
std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

// The parser would call a misspelt verb a word too many, and a missing one "a subcommand".
void require_verbs(const CLI::App& app, std::span<const std::string> typed) {
  const std::vector<std::string> names = verb_names(app);
  if (names.empty()) return;
  if (typed.empty())
    reject(Hint{fmt::format("{} {}", full_name(app), names.front())}, "'{}' wants to be told what: {}",
           full_name(app), fmt::join(names, ", "));
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
  if (!word.starts_with("-"))
    return {Blame::request, fmt::format("'{}' has no use for the word '{}'", full_name(verb), typed),
            Hint{full_name(verb) + " --help"}};
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return {Blame::request, fmt::format("'{}' has no option '{}'", full_name(verb), word),
          nearest(word, names)};
}

// What the parser says ("Could not convert: --lr = fast", "--lr: 1 required FLOAT missing") in our words.
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

int report(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = deepest(app);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) && !verb.remaining().empty())
    return report(unknown_word(verb, verb.remaining().front()));
  return report(Error(Blame::request, reworded(verb, error.what()), Hint{full_name(verb) + " --help"}));
}

// `--save "$OUT"` with OUT unset: nobody means that, and without a word the result would not be kept.
void require_no_empty_word(std::span<const std::string> typed) {
  for (std::size_t i = 0; i < typed.size(); ++i)
    if (typed[i].empty() || (typed[i].starts_with("--") && typed[i].ends_with("=")))
      reject(Hint{"is it a shell variable that is not set?"}, "an empty word{}",
             i == 0 ? "" : fmt::format(" after '{}'", typed[typed[i].empty() ? i - 1 : i]));
}

int run(int argc, char** argv) {
  words.assign(argv, argv + argc);
  CLI::App app("train and run neural networks, and see how far from the hardware's limit they are",
               "headroom");
  app.require_subcommand(0, 1);
  app.set_version_flag("--version", version_text);
  for (auto add : {add_demo, add_train, add_eval, add_predict, add_roofline, add_machine, add_bench,
                   add_model, add_recipe, add_data})
    add(app);
  if (argc == 1) {
    print(kWelcome);
    return 0;
  }
  const std::span typed = std::span(words).subspan(1);
  require_verbs(app, typed);
  require_no_empty_word(typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  if (app.get_subcommands().empty()) print(kWelcome);  // "headroom --"
  return 0;
}

}  // namespace

const std::vector<std::string>& command_line() { return words; }

}  // namespace headroom::cli

int main(int argc, char** argv) {
  using namespace headroom;
  try {
    const int code = cli::run(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw Error(Blame::run, "cannot write to standard output");
    return code;
  } catch (const Error& error) {
    return cli::report(error);
  } catch (const std::bad_alloc&) {
    return cli::report(Error(Blame::run, "out of memory", Hint{"try a smaller --batch"}));
  } catch (const std::exception& error) {
    return cli::report(Error(Blame::run, fmt::format("unexpected: {}", error.what())));
  }
}
