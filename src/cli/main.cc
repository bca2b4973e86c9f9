// The only code that prints or exits. Exit codes: 0 done, 1 the run failed, 2 the request was wrong.
#include <omp.h>

#include <cstdio>
#include <cstdlib>

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

// The names a misspelt word could have meant: verbs of an app, or its options.
std::vector<std::string> verb_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(verb->get_name());
  return names;
}

const CLI::App& deepest(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.back());
}

int report(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& verb = deepest(app);
  if (const auto extras = verb.remaining();
      dynamic_cast<const CLI::ExtrasError*>(&error) && !extras.empty()) {
    const std::string& word = extras.front();
    std::vector<std::string> names;
    for (const CLI::Option* option : verb.get_options())
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    const bool option = word.starts_with("-");
    return report(Error(
        Blame::request,
        fmt::format("'{}' does not know {}'{}'", verb.get_display_name(), option ? "the option " : "", word),
        option ? nearest(word, names) : Hint{fmt::format("headroom {} --help", verb.get_name())}));
  }
  return report(
      Error(Blame::request, error.what(), Hint{fmt::format("headroom {} --help", verb.get_name())}));
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
  if (const std::string verb = argv[1]; !verb.starts_with("-")) {
    const auto names = verb_names(app);
    if (std::find(names.begin(), names.end(), verb) == names.end())
      reject(nearest(verb, names), "unknown verb '{}'", verb);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {  // --help, --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(app, error);
  }
  return 0;
}

}  // namespace

const std::vector<std::string>& command_line() { return words; }

}  // namespace headroom::cli

int main(int argc, char** argv) {
  using namespace headroom;
  try {
    const int code = cli::run(argc, argv);
    if (std::fflush(stdout) != 0) throw Error(Blame::run, "cannot write to standard output");
    return code;
  } catch (const Error& error) {
    return cli::report(error);
  } catch (const std::bad_alloc&) {
    return cli::report(Error(Blame::run, "out of memory", Hint{"try a smaller --batch"}));
  } catch (const std::exception& error) {
    return cli::report(Error(Blame::run, fmt::format("unexpected: {}", error.what())));
  }
}
