#include "cli/verbs.h"
namespace headroom::cli {
void add_bench(CLI::App&) {}
}  // namespace headroom::cli
