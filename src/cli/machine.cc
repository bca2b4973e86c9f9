#include "machine/machine.h"

#include "cli/options.h"
#include "cli/verbs.h"
#include "report/machine_table.h"

namespace headroom::cli {

void add_machine(CLI::App& app) {
  struct State {
    Common common;
    std::string name;
  };
  auto state = std::make_shared<State>();
  CLI::App* verb =
      app.add_subcommand("machine", "the table of machines: datasheets, and what was measured here");
  verb->require_subcommand(1);
  add_example(*verb, "headroom machine show h200");
  CLI::App* list = verb->add_subcommand("list", "every machine, one line each");
  add_json(*list, state->common);
  add_example(*list, "headroom machine list");
  list->callback([state] {
    std::vector<Machine> machines;
    for (const std::string& name : machine_names()) machines.push_back(find_machine(name));
    if (!state->common.json) return print(machine_list_table(machines));
    Json all = Json::array();
    for (const Machine& machine : machines) all.push_back(to_json(machine));
    print_json({{"machines", all}});
  });
  CLI::App* show = verb->add_subcommand("show", "all that is known about one");
  show->add_option("name", state->name, "a name from headroom machine list, or a JSON file")->required();
  add_json(*show, state->common);
  add_example(*show, "headroom machine show h200");
  show->callback([state] {
    const Machine machine = find_machine(state->name);
    if (state->common.json) return print_json(to_json(machine));
    print(machine_page(machine) + "\n" + draw_roofline(machine));
  });
}

}  // namespace headroom::cli
