// The only code that prints or exits. Exit codes: 0 done, 1 the run failed, 2 the request was wrong, 130 and
// 143 stopped by a signal after saving.
#include <omp.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/spans.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/options.h"
#include "cli/ranks.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "comm/world.h"
#include "device/cpu/levels.h"
#include "ops/cpu/bf16_tile.h"
#include "ops/cpu/blas.h"
#include "ops/cpu/gemm_tile.h"

namespace headroom::cli {
namespace {

std::vector<std::string> words;

constexpr const char* kWelcome =
    "headroom: train and run neural networks, and see how far from the hardware's limit they are.\n"
    "\n"
    "Three things to try:\n"
    "  headroom demo                                   train LeNet-5 on embedded digits, layer by layer\n"
    "  headroom predict lenet5 --machine here,h200     its minimum cost, here and elsewhere\n"
    "  headroom roofline                               measure the ceilings of this machine\n"
    "\n"
    "headroom --help lists every verb.\n";

std::string version_text() {
  return fmt::format("headroom {} (commit {})\ncompiler  {}, {}\nBLAS      {}\n", version(), commit(),
                     compiler(), build_type(), blas_version()) +
         fmt::format("threads   OpenMP {}, {} here\nkernels   {}\nCUDA      {}\n", _OPENMP,
                     omp_get_max_threads(), cpu_levels_text(), cuda_version());
}

// If one of several ranks fails in the middle of a run, it prints its rank and ends all: the others would
// wait forever.
int report(const Error& error) {
  const int code = error.blame() == Blame::request ? 2 : 1;
  const std::string who = ranks_started() ? fmt::format("rank {}: ", launched_rank()) : "";
  std::string text = fmt::format("headroom: {}{}\n", who, with_options(error.what()));
  if (!error.hint().empty()) text += fmt::format("  {}\n", with_options(error.hint()));
  // If all ranks fail with the same error, the first reports it before the exit code of another ends the job.
  if (launched_rank() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  if (who.empty()) return note(text), code;
  text = printable(text, true);
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
  World::instance().abort(code);
  return code;
}

// To compare: instructions that are not the best ones here.
void use_named(const char* variable, void (*use)(std::string_view)) {
  const char* name = std::getenv(variable);
  if (name == nullptr || *name == '\0') return;
  try {
    use(name);
  } catch (const Error& error) {
    reject(Hint{fmt::format("unset {}; {}", variable, error.hint())}, "{}: {}", variable, error.what());
  }
}

void run(int argc, char** argv) {
  words.assign(argv, argv + argc);
  if (launched_rank() > 0) be_silent();
  use_named("HEADROOM_LEVEL", use_cpu_level);
  use_named("HEADROOM_TILE", gemm_tile::use);
  use_named("HEADROOM_BF16_TILE", bf16::use);
  if (argc == 1) return print(kWelcome);
  parse(words, "train and run neural networks, and see how far from the hardware's limit they are",
        version_text,
        {{"demo", add_demo},
         {"train", add_train},
         {"tta", add_tta},
         {"sweep", add_sweep},
         {"eval", add_eval},
         {"run", add_run},
         {"generate", add_generate},
         {"predict", add_predict},
         {"calibrate", add_calibrate},
         {"profile", add_profile},
         {"roofline", add_roofline},
         {"machine", add_machine},
         {"bench", add_bench},
         {"diff", add_diff},
         {"report", add_report},
         {"tune", add_tune},
         {"watch", add_watch},
         {"model", add_model},
         {"recipe", add_recipe},
         {"data", add_data},
         {"doctor", add_doctor},
         {"completion", add_completion, true}});
}

}  // namespace

const std::vector<std::string>& command_line() { return words; }

}  // namespace headroom::cli

int main(int argc, char** argv) {
  using namespace headroom;
  spans::name_thread("main");
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond the limit is an error like a full disk, not the end
  try {
    cli::run(argc, argv);
    if (cli::ranks_started()) World::instance().finish();
    if (std::fflush(stdout) != 0 || std::ferror(stdout))
      throw Error(Blame::run, "cannot write to standard output");
    return 0;
  } catch (const cli::Interrupted& interrupted) {
    if (cli::ranks_started()) World::instance().finish();
    return interrupted.code;
  } catch (const Error& error) {
    return cli::report(error);
  } catch (const std::bad_alloc&) {
    return cli::report(
        Error(Blame::run, "out of memory", Hint{"try smaller sizes, such as a smaller --batch"}));
  } catch (const std::exception& error) {
    return cli::report(Error(Blame::run, fmt::format("unexpected: {}", error.what())));
  }
}
