#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace headroom::cli {

// One function per verb, in the file of the same name; each adds a subcommand and its action.
void add_train(Command app);
void add_eval(Command app);
void add_run(Command app);
void add_generate(Command app);
void add_predict(Command app);
void add_calibrate(Command app);
void add_profile(Command app);
void add_roofline(Command app);
void add_machine(Command app);
void add_bench(Command app);
void add_bench_forward(Command bench);  // verbs below bench
void add_bench_profiler(Command bench);
void add_bench_gemm(Command bench);
void add_bench_conv2d(Command bench);
void add_diff(Command app);
void add_report(Command app);
void add_model(Command app);
void add_export(Command model);  // a verb below model
void add_tune(Command app);
void add_recipe(Command app);
void add_recipe_run(Command recipe);  // a verb below recipe
void add_data(Command app);
void add_demo(Command app);
void add_doctor(Command app);
void add_watch(Command app);
void add_tta(Command app);
void add_sweep(Command app);
void add_completion(Command app);

// The command line as typed, for the run record.
const std::vector<std::string>& command_line();

}  // namespace headroom::cli
