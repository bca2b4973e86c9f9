#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace headroom::cli {

// One function per verb, in the file of that name; each adds a subcommand and what it does.
void add_train(CLI::App& app);
void add_eval(CLI::App& app);
void add_predict(CLI::App& app);
void add_roofline(CLI::App& app);
void add_machine(CLI::App& app);
void add_bench(CLI::App& app);
void add_model(CLI::App& app);
void add_recipe(CLI::App& app);
void add_data(CLI::App& app);
void add_demo(CLI::App& app);

// The command line as it was typed, for the run record.
const std::vector<std::string>& command_line();

}  // namespace headroom::cli
