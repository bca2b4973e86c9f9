#include "machine/machine.h"

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "cli/verbs.h"
#include "report/machine_table.h"

namespace headroom::cli {

void add_machine(Command app) {
  struct State {
    Common common;
    std::string name;
  };
  auto state = std::make_shared<State>();
  Command verb = app.verb("machine", "the table of machines: datasheets, and what was measured here");
  verb.example("headroom machine show h200");
  Command list = verb.verb("list", "every machine, one line each");
  add_json(list, state->common);
  add_table_options(list, state->common.tables);
  list.example("headroom machine list");
  list.runs([state] {
    std::vector<Machine> machines;
    for (const std::string& name : machine_names()) {
      try {
        machines.push_back(find_machine(name));
      } catch (const Error& error) {
        warn(fmt::format("left out: {}; {}", error.what(), error.hint()));
      }
    }
    if (!state->common.json)
      return print(machine_sheet(machines).text(state->common.tables.view(true)) + kMachineNote);
    Json all = Json::array();
    for (const Machine& machine : machines) all.push_back(to_json(machine));
    print_json({{"machines", all}});
  });
  Command show = verb.verb("show", "everything known about one machine");
  show.required("name", state->name, "a name from headroom machine list, or a JSON file");
  add_json(show, state->common);
  show.example("headroom machine show h200");
  show.runs([state] {
    const Machine machine = find_machine(state->name);
    if (state->common.json) return print_json(to_json(machine));
    print(machine_page(machine) + "\n" + draw_roofline(machine));
  });
}

}  // namespace headroom::cli
