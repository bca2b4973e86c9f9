#include "report/findings.h"

#include <gtest/gtest.h>

#include "profile/testing/small_traces.h"

namespace headroom {
namespace {

using namespace testing;

constexpr std::int64_t kMicro = 1000;  // nanoseconds

const Finding* find_named(const std::vector<Finding>& findings, std::string_view name) {
  for (const Finding& f : findings)
    if (f.name == name) return &f;
  return nullptr;
}

// Checks share and gain of a finding, and what it advises.
void expect_finding(const RunProfile& profile, std::string_view name, double share, double gain_us,
                    std::string_view remedy) {
  const std::vector<Finding> findings = findings_of(profile);
  const Finding* f = find_named(findings, name);
  ASSERT_NE(f, nullptr) << name;
  EXPECT_NEAR(f->share, share, 1e-9);
  EXPECT_NEAR(f->gain_s, gain_us * 1e-6, 1e-12);
  EXPECT_TRUE(f->remedy.starts_with(remedy)) << f->remedy;
  EXPECT_FALSE(f->text.empty());
}

bool has_finding(const RunProfile& profile, std::string_view name) {
  return find_named(findings_of(profile), name) != nullptr;
}

RunProfile one_batch(std::int64_t end_us) {
  RunProfile p;
  p.trace.lanes = {{"main"}, {"compute stream", true}};
  add_span(p.trace, 0, "batch", 0, end_us * kMicro, 0, SpanKind::batch);
  add_window(p.trace, 0, 0, end_us * kMicro);
  return p;
}

void call_us(RunProfile& p, std::string_view name, std::int64_t begin, std::int64_t end,
             int correlation = 0) {
  add_call(p.trace, 0, name, begin * kMicro, end * kMicro, correlation);
}
Trace::Kernel& kernel_us(RunProfile& p, std::int64_t begin, std::int64_t end, int correlation) {
  return add_kernel(p.trace, 1, "k", begin * kMicro, end * kMicro, correlation);
}

void set_gpu(RunProfile& p) {
  Machine m;
  m.kind = "gpu", m.cores = 100;
  m.peak_flops = {{"fp32", 1e12}, {"tf32", 8e12}};
  m.levels = {{"memory", 1e11, 1e12, 0}};
  p.record.machine = m;
}

// Steps of a plan with their bounds and measured times.
void add_plan_step(RunProfile& p, const std::string& op, const std::string& problem, const std::string& bound,
                   double seconds, double bytes = 0) {
  if (!p.record.plan) p.record.plan.emplace(), p.record.prediction.emplace(), p.record.measurement.emplace();
  p.record.plan->precision = "fp32";
  p.record.plan->steps.push_back(
      {.layer = "of " + op, .phase = "forward", .op = op, .problem = problem, .bytes = bytes});
  p.record.prediction->steps.push_back({.bound = bound});
  p.record.measurement->steps.push_back({{seconds}});
}

// Four calls of 10 us launch kernels of 4 us, which begin 12 us after their call.
RunProfile launched_one_by_one() {
  RunProfile p = one_batch(75);
  for (int i = 0; i < 4; ++i) {
    call_us(p, "cudaLaunchKernel", 5 + 15 * i, 15 + 15 * i, i + 1);
    kernel_us(p, 17 + 15 * i, 21 + 15 * i, i + 1);
  }
  call_us(p, "cudaStreamSynchronize", 65, 70);
  return p;
}

TEST(Findings, ALaunchBoundStepWantsAGraph) {
  RunProfile p = launched_one_by_one();
  // 16 us of kernels and 4 of waiting leave 55 us. Replayed: one launch at 5 us, kernels from 17 to 36 us
  // with 1 us between two; the host is through before.
  expect_finding(p, "launch-bound step", 55.0 / 75, 75 - 36, "`graph`");
  set_gpu(p);
  p.record.machine->launch.graph_node_s = 0.5e-6;
  expect_finding(p, "launch-bound step", 55.0 / 75, 75 - 34.5, "`graph`");
}

TEST(Findings, ACapturedStepWantsALargerBatch) {
  RunProfile p = one_batch(40);
  call_us(p, "cudaGraphLaunch", 0, 10, 1);
  kernel_us(p, 20, 30, 1).graph_node = 5;
  // Twice the work ends at 40 us, when the host is through: half of that for the images of a step.
  expect_finding(p, "launch-bound step", 0.75, 20, "a larger `batch`");
}

TEST(Findings, ALargerBatchTakesTheLoaderLonger) {
  RunProfile p = one_batch(40);
  add_span(p.trace, 0, "wait for the loader", 0, 20 * kMicro, 1, SpanKind::wait);
  call_us(p, "cudaGraphLaunch", 22, 24, 1);
  kernel_us(p, 26, 30, 1).graph_node = 5;
  // Twice the batch is ready at 40 us and done at 60: 30 for the images of a step.
  expect_finding(p, "launch-bound step", 0.4, 10, "a larger `batch`");
}

RunProfile kernel_bound(int blocks) {
  RunProfile p = one_batch(100);
  set_gpu(p);
  call_us(p, "cudaGraphLaunch", 0, 2, 1);
  call_us(p, "cudaStreamSynchronize", 4, 98, 2);
  Trace::Kernel& k = kernel_us(p, 5, 95, 1);
  k.graph_node = 5, k.grid = {blocks, 1, 1};
  return p;
}

TEST(Findings, KernelsSmallerThanTheDeviceWantALargerBatch) {
  // At twice the batch the kernel takes 90 us on twice the multiprocessors: 50 us for the images of a step.
  expect_finding(kernel_bound(50), "small kernels", 0.9, 50, "a larger `batch`");
  // From 80 to 160 blocks for 100 multiprocessors: 144 us and the host's 10, of which half counts.
  expect_finding(kernel_bound(80), "small kernels", 0.9, 23, "a larger `batch`");
  EXPECT_FALSE(has_finding(kernel_bound(200), "small kernels"));
  EXPECT_FALSE(has_finding(kernel_bound(200), "launch-bound step")) << "6 % of the step";
  RunProfile unknown = kernel_bound(50);
  unknown.record.machine->cores = 0;
  EXPECT_FALSE(has_finding(unknown, "small kernels"));
}

TEST(Findings, ALargerBatchIsAdvisedOnce) {
  RunProfile p = one_batch(40);
  set_gpu(p);
  call_us(p, "cudaGraphLaunch", 0, 10, 1);
  Trace::Kernel& k = kernel_us(p, 20, 30, 1);
  k.graph_node = 5, k.grid = {10, 1, 1};
  EXPECT_TRUE(has_finding(p, "launch-bound step") != has_finding(p, "small kernels"));
}

// Two gradients of activations (0 and 2), the gradient of a weight behind each of them, and an update.
RunProfile one_after_another(int streams) {
  RunProfile p = one_batch(120);
  call_us(p, "cudaGraphLaunch", 0, 5, 1);
  call_us(p, "cudaStreamSynchronize", 6, 118, 2);
  p.record.plan.emplace();
  p.record.plan->streams = streams, p.record.plan->mode = "train";
  for (int s = 0; s < 5; ++s) {
    Trace::Kernel& k = kernel_us(p, 10 + 20 * s, 30 + 20 * s, 1);
    k.graph_node = std::uint64_t(5 + s), k.step = s;
    RecordedStep step;
    step.phase = s < 4 ? "backward" : "update";
    step.could_branch = streams == 1 && (s == 1 || s == 3);
    p.record.plan->steps.push_back(step);
  }
  return p;
}

TEST(Findings, ASecondStreamTakesGradientsOfWeights) {
  // The path is at 50 us, the second stream begins at 30 and 50 and ends at 70, the update at 90: 20 us less.
  expect_finding(one_after_another(1), "one stream", 40.0 / 120, 20, "`streams` 2");
  EXPECT_FALSE(has_finding(one_after_another(2), "one stream"));
}

// A batch is copied at 10 GB/s, waited for, and computed.
RunProfile copied_first() {
  RunProfile p = one_batch(110);
  call_us(p, "cudaMemcpyAsync", 0, 5, 1);
  call_us(p, "cudaStreamSynchronize", 6, 50, 2);
  call_us(p, "cudaGraphLaunch", 55, 60, 3);
  call_us(p, "cudaStreamSynchronize", 62, 108, 4);
  add_copy(p.trace, 1, Trace::CopyKind::host_to_device, 400'000, 8 * kMicro, 48 * kMicro, 1);
  kernel_us(p, 65, 105, 3).graph_node = 5;
  return p;
}

TEST(Findings, CopiesCouldBeHidden) {
  RunProfile p = copied_first();
  // The launch comes at 13 us, the kernel ends at 63, the host at 68.
  expect_finding(p, "copies not hidden", 40.0 / 110, 42, "`overlap`");
  EXPECT_FALSE(has_finding(p, "pageable copies"));
  p.trace.lanes.push_back({"copy stream", true});
  p.trace.copies[0].lane = 2;
  expect_finding(p, "copies not hidden", 40.0 / 110, 42, "`resident`");
  p.trace.copies[0].kind = Trace::CopyKind::device_to_host;
  EXPECT_FALSE(has_finding(p, "copies not hidden")) << "no feed copies in that direction";
}

TEST(Findings, PageableCopiesAreSlowAndKeepTheHost) {
  RunProfile p = copied_first();
  p.trace.copies[0].pinned = false;
  p.trace.calls.erase(p.trace.calls.begin() + 1);
  p.trace.calls[0].end_ns = 50 * kMicro;  // the call copies by itself
  // Without the call the launch comes at 5 us. The kernel begins 1 us after the copy, at 49 us, and ends at
  // 89: the host returns 3 us later and works for 2 more.
  expect_finding(p, "pageable copies", 40.0 / 110, 110 - 94, "`pinned`");
  EXPECT_FALSE(has_finding(p, "copies not hidden")) << "a pageable copy cannot be hidden";
  set_gpu(p);
  p.record.machine->host_link.upload = 20e9;  // the copy takes 20 us
  expect_finding(p, "pageable copies", 40.0 / 110, 110 - 74, "`pinned`");
  p.trace.copies[0].kind = Trace::CopyKind::device_to_host;
  EXPECT_FALSE(has_finding(p, "pageable copies")) << "the loss is read whatever the feed does";
}

TEST(Findings, AWaitingLoaderWantsThreads) {
  RunProfile p;
  Trace& t = p.trace;
  t.lanes = {{"main"}, {"loader 1"}, {"loader 2"}};
  for (std::int64_t at : {0, 80'000}) {
    add_span(t, 0, "batch", at, at + 80'000, 0, SpanKind::batch);
    add_span(t, 0, "wait for the loader", at, at + 30'000, 1, SpanKind::wait);
    add_span(t, 0, "linear", at + 30'000, at + 80'000, 1, SpanKind::step);
  }
  add_window(t, 0, 0, 160'000);
  t.windows[0].steps = 2;
  expect_finding(p, "waiting loader", 30.0 / 80, 30, "`loader-threads` 2");
  for (int lane : {1, 2})
    for (std::int64_t at : {0, 80'000}) add_span(t, lane, "prepare", at, at + 80'000, 0, SpanKind::data);
  // Two threads spend 160 us on the batch of a step that would take 50.
  expect_finding(p, "waiting loader", 30.0 / 80, 30, "`loader-threads` 4");
}

TEST(Findings, AllocationsWithinStepsAreNamed) {
  RunProfile p = copied_first();
  call_us(p, "cudaMalloc", 52, 54, 9);
  call_us(p, "cudaMallocAsync", 60, 61, 10);
  expect_finding(p, "repeated allocation", 2.0 / 110, 2, "one allocation");
  p.trace.calls[4].name = p.trace.name_id("cudaMemGetInfo");
  EXPECT_FALSE(has_finding(p, "repeated allocation"));
}

TEST(Findings, TheLateRankIsNamed) {
  RunProfile p;
  Trace& t = p.trace;
  t.lanes = {{"main", false, 0}, {"exchange", false, 0}, {"main", false, 1}, {"exchange", false, 1}};
  for (int rank : {0, 1}) {
    add_span(t, 2 * rank, "batch", 0, 100'000, 0, SpanKind::batch);
    add_window(t, rank, 0, 100'000);
  }
  add_span(t, 0, "wait for other ranks", 50'000, 90'000, 1, SpanKind::wait);
  add_span(t, 2, "wait for other ranks", 80'000, 90'000, 1, SpanKind::wait);
  add_span(t, 1, "all-reduce", 50'000, 90'000, 0, SpanKind::exchange);
  EXPECT_FALSE(has_finding(p, "late rank")) << "a single rank was recorded";
  add_span(t, 3, "all-reduce", 80'000, 90'000, 0, SpanKind::exchange);
  const std::string text = findings_text(findings_of(p), {});
  EXPECT_NE(text.find("rank 0 waits 30.0 us of a step for rank 1"), std::string::npos) << text;
  expect_finding(p, "late rank", 0.3, 30, "as many cores");
}

TEST(Findings, StepsThatPassATensorOnCouldBeOne) {
  RunProfile p = one_batch(50);
  add_plan_step(p, "add", "add 8x16,8x16 fp32", "memory", 30e-6);
  add_plan_step(p, "relu", "relu 8x16 fp32", "memory", 20e-6);
  add_span(p.trace, 0, "add", 0, 30 * kMicro, 1, SpanKind::step).step = 0;
  add_span(p.trace, 0, "relu", 30 * kMicro, 50 * kMicro, 1, SpanKind::step).step = 1;
  // One of three tensors of the first, one of two of the second.
  expect_finding(p, "steps that could be one", 0.4, 10 + 10, "one layer");
  p.record.plan->mode = "train";
  expect_finding(p, "steps that could be one", 0.4, 10, "one layer");
  RecordedStep& second = p.record.plan->steps[1];
  second.problem = "relu 8x4 fp32";
  EXPECT_FALSE(has_finding(p, "steps that could be one")) << "another shape";
  second.op = "add", second.problem = "add 8x16,8x16 fp32";
  EXPECT_FALSE(has_finding(p, "steps that could be one")) << "it reads something else, too";
  second.op = "relu", second.problem = "relu 8x16 fp32", p.record.prediction->steps[1].bound = "compute";
  EXPECT_FALSE(has_finding(p, "steps that could be one")) << "its time is not that of its bytes";
  p.record.prediction->steps[1].bound = "memory", second.op = "no such operator";
  EXPECT_FALSE(has_finding(p, "steps that could be one"));
}

TEST(Findings, ProductsInFp32CouldUseTensorCores) {
  RunProfile p = copied_first();
  p.trace.kernels[0].step = 0;
  add_plan_step(p, "linear", "linear 8x16,4x16 fp32", "compute", 40e-6, 1e7);
  EXPECT_FALSE(has_finding(p, "products in fp32")) << "nobody knows the machine";
  set_gpu(p);
  expect_finding(p, "products in fp32", 40.0 / 110, 30, "`precision` tf32");  // the bytes take 10 us
  p.record.plan->steps[0].bytes = 0;
  // 4 us to start and drain, and an eighth of the rest.
  expect_finding(p, "products in fp32", 40.0 / 110, 31.5, "`precision` tf32");
  p.record.plan->steps[0].launches = {{.unit = "tf32"}};  // in three parts already
  expect_finding(p, "products in fp32", 40.0 / 110, 24, "`precision` tf32");
  p.record.plan->precision = "tf32";
  EXPECT_FALSE(has_finding(p, "products in fp32"));
}

TEST(Findings, TheLargestGainComesFirstAndSmallOnesAreLeftOut) {
  RunProfile p = copied_first();
  call_us(p, "cudaMalloc", 52, 54, 9);
  const std::vector<Finding> findings = findings_of(p);
  ASSERT_GE(findings.size(), 2u);
  EXPECT_EQ(findings[0].name, "copies not hidden");
  EXPECT_EQ(findings.back().name, "repeated allocation");
  p.trace.calls.back().end_ns = 53 * kMicro;  // 0.9 %
  EXPECT_FALSE(has_finding(p, "repeated allocation"));
  EXPECT_TRUE(findings_of({}).empty());
}

TEST(Findings, TextAndTableStateTheGain) {
  const std::vector<Finding> findings = findings_of(copied_first());
  const std::string text = findings_text(findings, {});
  EXPECT_NE(text.find("copies not hidden (36.4 % of the step)"), std::string::npos) << text;
  EXPECT_NE(text.find("0.042 ms of 0.11 ms, 38.2 %."), std::string::npos) << text;
  const Sheet sheet = findings_sheet(findings);
  ASSERT_EQ(sheet.rows(), findings.size());
  EXPECT_NEAR(std::get<double>(sheet.at(0, "gain_ms")), 0.042, 1e-9);
  EXPECT_NEAR(std::get<double>(sheet.at(0, "gain_percent")), 100 * 42.0 / 110, 1e-9);
  EXPECT_NE(findings_text({}, {}).find("Nothing was found"), std::string::npos);
}

}  // namespace
}  // namespace headroom
