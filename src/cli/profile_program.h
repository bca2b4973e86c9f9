#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/profile_run.h"
#include "cli/record_files.h"

namespace headroom::cli {

// A program that is not ours, profiled from outside: `headroom profile -- PROGRAM ARGS`.
struct ProgramRequest {
  std::vector<std::string> command;
  std::string window, step_range, layers, graphs;
};
void add_program_options(Command verb, ProgramRequest& request);
void reject_program_options(const ProgramRequest& request);  // of a profile without a program

// Runs the program, prints what it did on standard error and writes the folder. With --json standard output
// holds the JSON alone, and the output of the program goes to standard error. Its exit code is ours.
void profile_program(const ProgramRequest& request, const ProfileOptions& options, const Common& common,
                     const RecordFiles& files);

}  // namespace headroom::cli
