#include "machine/roofline.h"

#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/machine_table.h"

namespace headroom::cli {

void add_roofline(Command app) {
  struct State {
    Common common;
    double seconds = 6;
  };
  auto state = std::make_shared<State>();
  Command verb = app.verb("roofline", "measure this machine's ceilings and keep them as the machine 'here'");
  add_json(verb, state->common);
  verb.option("--threads", state->common.threads, "CPU threads; 0 takes one per core");
  verb.option("--seconds", state->seconds, "how long to measure");
  verb.example("headroom roofline");
  verb.runs([state] {
    state->common.require_threads();
    if (!(state->seconds >= 0.1 && state->seconds <= 600))
      reject("--seconds is {}; it must lie between 0.1 and 600", state->seconds);
    Progress progress("measuring");
    const Machine machine = measure_cpu(state->common.threads, state->seconds, [&](const std::string& stage) {
      progress.line("measuring " + stage);
    });
    save_machine(machine);
    if (state->common.json) return print_json(to_json(machine));
    print(machine_page(machine) + "\n" + draw_roofline(machine));
    print(fmt::format("\nsaved as machine 'here': {}\n", machine_file("here").string()));
  });
}

}  // namespace headroom::cli
