#include "base/json.h"
#include "bench/work_check.h"
#include "cli/bench.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/work_sheet.h"

namespace headroom::cli {
namespace {

struct BenchWorkRequest {
  Common common;
  std::vector<std::string> operators;
  bool small = false, all = false;
  BenchTarget target;
};

void run_work(const BenchWorkRequest& r) {
  require_output(r.target, r.common);
  if (r.common.device == "cpu")
    reject(Hint{"add --device cuda"}, "bench work reads the counters of a GPU; this one runs on the CPU");
  const auto device = r.common.open();
  const std::vector<WorkCase> cases =
      work_cases(device->capabilities(), r.operators, r.small ? CaseSize::small : CaseSize::any);
  if (cases.empty()) reject("none of these operators has a kernel of ours for this GPU");
  WorkCheck check;
  {
    Progress progress("bench work");
    check = check_work(*device, cases, [&](const std::string& what) { progress.stage(what); });
  }
  if (!check.why_not.empty()) throw Error(Blame::run, check.why_not, Hint{});
  finish_bench({"bench work",
                {{work_sheet(check, r.all ? WorkRows::all : WorkRows::off),
                  fmt::format("Kernels' own account of their work on {}, beside its counters\n\n",
                              device->capabilities().name),
                  "\n" + work_notes(check)}},
                work_check_json(check)},
               r.common, r.target, nullptr);
}

}  // namespace

void add_bench_work(Command bench) {
  auto r = std::make_shared<BenchWorkRequest>();
  Command work = bench.verb("work", "kernels' own account of their work, beside the counters of a GPU");
  work.option("operator", r->operators, "names of operators; all by default");
  add_json(work, r->common);
  add_table_options(work, r->common.tables);
  add_bench_output(work, r->target);
  work.option("--device", r->common.device, "cuda, or cuda:1 for the second GPU");
  work.flag("--small", r->small, "the small, uneven cases of the tests instead of the largest");
  work.flag("--all", r->all, "all kernels, not only those whose account is off");
  work.example("headroom bench work --device cuda");
  work.example("headroom bench work gemm conv2d --device cuda --small --json");
  work.runs([r] { run_work(*r); });
}

}  // namespace headroom::cli
