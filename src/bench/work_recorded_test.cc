// Accounts of the GPU kernels beside counters of an H200 that were recorded (tests/recordings/cuda-work.txt):
// the check of `bench work` without a GPU.
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "bench/operator_node.h"
#include "bench/work_check.h"

namespace headroom {
namespace {

struct RecordedWork {
  std::string kernel, precision;
  double flops = 0, l2_bytes = 0;
  std::string known;    // "-", or why the counters differ: "L2:merged"
  std::string problem;  // or how it begins
};

// kernel, precision, FLOPs, bytes through L2, known difference, problem
std::vector<RecordedWork> recorded_work() {
  constexpr std::size_t kFields = 5;
  std::vector<RecordedWork> rows;
  const auto path = std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests/recordings/cuda-work.txt";
  for (const std::string& line : split(read_file(path), '\n')) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> fields;
    std::size_t at = 0;
    for (std::size_t i = 0; i < kFields; ++i) {
      const std::size_t end = line.find(' ', at);
      fields.push_back(line.substr(at, end - at)), at = end + 1;
    }
    rows.push_back(
        {fields[0], fields[1], std::stod(fields[2]), std::stod(fields[3]), fields[4], line.substr(at)});
  }
  return rows;
}

Target recorded_target(const std::string& precision) {
  return Target({.kind = DeviceKind::cuda,
                 .compute_capability = 90,
                 .multiprocessors = 132,
                 .memory_bytes = std::size_t{140} << 30},
                {.tf32 = precision == "tf32"});
}

DType dtype_named(const std::string& precision) {
  return precision == "fp64"   ? DType::f64
         : precision == "fp16" ? DType::f16
         : precision == "bf16" ? DType::bf16
                               : DType::f32;
}

// The row as `bench work` would judge it, or nothing where the program has no such kernel or case any more.
std::optional<WorkRow> account_of(const RecordedWork& row) {
  const Operator& op = operator_of(row.problem.substr(0, row.problem.find(' ')));
  const Target target = recorded_target(row.precision);
  for (const Kernel& kernel : op.kernels) {
    if (kernel.name != row.kernel) continue;
    for (const Case& c : op.cases) {
      Problem problem{.op = op.schema.name,
                      .inputs = input_types(op, c, dtype_named(row.precision)),
                      .outputs = {},
                      .attrs = c.attrs};
      problem.outputs = op.schema.infer(problem.inputs, problem.attrs);
      if (!problem.str().starts_with(row.problem) || !accepts(kernel, problem, target).ok) continue;
      return WorkRow{.problem = problem,
                     .kernel = row.kernel,
                     .precision = row.precision,
                     .cost = op.schema.cost(problem),
                     .work = kernel.work(problem, target),
                     .counted = {}};
    }
  }
  return {};
}

WorkVerdict verdict_of(const RecordedWork& recorded, WorkRow row) {
  for (const std::string& name : operation_counters()) row.counted.counters["1:" + name] = 0;
  row.counted.counters["1:fp32-add"] = recorded.flops;
  row.counted.counters["2:l2-sectors"] = recorded.l2_bytes / 32;
  return judge(row, {});
}

std::string off_in(const WorkVerdict& verdict) {
  return verdict.flops && verdict.l2 ? "FLOP+L2" : verdict.flops ? "FLOP" : verdict.l2 ? "L2" : "-";
}

// A mark that is no longer needed must go: the list can only shrink.
TEST(RecordedWorks, AccountsAgreeExceptWhereTheRecordSaysWhyNot) {
  std::size_t found = 0, marked = 0;
  for (const RecordedWork& row : recorded_work()) {
    const std::optional<WorkRow> account = account_of(row);
    if (!account) continue;
    ++found, marked += row.known != "-";
    EXPECT_EQ(off_in(verdict_of(row, *account)), row.known.substr(0, row.known.find(':')))
        << row.kernel << " " << row.precision << " " << row.problem << "\nFLOPs: counted " << row.flops
        << ", account " << executed_flops(account->work) << "\nL2 bytes: counted " << row.l2_bytes
        << ", account " << l2_bytes(account->work);
  }
  EXPECT_GT(found, 1000u) << "kernels or cases have changed: record the counters again";
  RecordProperty("off", static_cast<int>(marked));
}

TEST(RecordedWorks, MarksGiveAReasonThatTheRecordExplains) {
  const std::set<std::string> reasons = {"again", "data", "library", "merged", "open", "special", "spills"};
  for (const RecordedWork& row : recorded_work()) {
    if (row.known == "-") continue;
    const std::vector<std::string> parts = split(row.known, ':');
    ASSERT_EQ(parts.size(), 2u) << row.known;
    EXPECT_TRUE(reasons.contains(parts[1])) << row.known;
  }
}

// A wrong account is noticed.
TEST(RecordedWorks, AnAccountThatIsOffIsSeen) {
  const RecordedWork row{"cuda:map", "fp32", 0, 320000, "-", "relu 40000"};
  WorkRow account = account_of(row).value();
  account.cost.multiply_add = 1e6;
  account.cost.other = 0;
  account.work.main().executed = 1e6;
  account.work.main().l2_bytes = 2e6;
  EXPECT_EQ(off_in(verdict_of({.flops = 1e6, .l2_bytes = 2e6}, account)), "-");
  EXPECT_EQ(off_in(verdict_of({.flops = 1.03e6, .l2_bytes = 2e6}, account)), "FLOP");
  EXPECT_EQ(off_in(verdict_of({.flops = 1e6, .l2_bytes = 1.8e6}, account)), "L2");
}

}  // namespace
}  // namespace headroom
