#include "profile/gpu_counters.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "base/text.h"

namespace headroom {
namespace {

// Metrics with _sass_ in their names are counted by instructions added to the kernels: they never share a
// pass with the others.
const std::vector<GpuCounter>& all_counters() {
  static const std::vector<GpuCounter> counters = {
      {"time", "time of the kernels, in ns", {"gpu__time_duration.sum"}},
      {"cycles", "cycles in which a multiprocessor has work, over all of them", {"sm__cycles_active.sum"}},
      {"instructions", "instructions of warps executed", {"sm__inst_executed.sum"}, {"cycles"}},
      {"issued", "instructions of warps issued", {"sm__inst_issued.sum"}},
      {"warp-cycles",
       "cycles of all warps that are on a multiprocessor",
       {"sm__warps_active.sum"},
       {"cycles", "issued"}},
      {"global-loads",
       "load instructions of warps from global memory",
       {"smsp__inst_executed_op_global_ld.sum"},
       {"issued"}},
      {"global-stores",
       "store instructions of warps to global memory",
       {"smsp__inst_executed_op_global_st.sum"},
       {"issued"}},
      {"atomics",
       "atomics on global memory that return a value",
       {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"}},
      {"reductions",
       "atomics on global memory that return nothing",
       {"l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"}},
      {"dram-read", "bytes read from DRAM", {"dram__bytes_read.sum"}, {"time"}},
      {"dram-write", "bytes written to DRAM", {"dram__bytes_write.sum"}, {"time"}},
      {"l2-bytes", "bytes asked of the L2 cache", {"lts__t_bytes.sum"}, {"time"}},
      {"l2-sectors",
       "sectors of 32 bytes between multiprocessors and the L2 cache",
       {"lts__t_sectors_srcunit_tex.sum"}},
      {"branches", "branch instructions of warps", {"smsp__sass_inst_executed_op_branch.sum"}},
      {"divergent-branches",
       "branches that lanes of a warp took in different directions",
       {"smsp__sass_branch_targets_threads_divergent.sum"},
       {"branches"}},
      {"sass-instructions",
       "instructions of warps, counted with the lanes",
       {"smsp__sass_inst_executed.sum"}},
      {"lane-instructions",
       "instructions of single threads",
       {"smsp__sass_thread_inst_executed.sum"},
       {"sass-instructions"}},
      {"fp32-fma", "fp32 multiply-adds of threads", {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}},
      {"fp32-add",
       "fp32 additions of threads",
       {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"},
       {"fp32-fma"}},
      {"fp32-mul",
       "fp32 multiplications of threads",
       {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"},
       {"fp32-fma"}},
      {"fp64-fma", "fp64 multiply-adds of threads", {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"}},
      {"fp64-add",
       "fp64 additions of threads",
       {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"},
       {"fp64-fma"}},
      {"fp64-mul",
       "fp64 multiplications of threads",
       {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"},
       {"fp64-fma"}},
      {"tensor-instructions",
       "instructions of warps for tensor cores",
       {"sm__inst_executed_pipe_tensor.sum"},
       {"instructions"}},
      {"tensor-bf16", "operations of tensor cores on bf16", {"sm__ops_path_tensor_src_bf16_dst_fp32.sum"}},
      {"tensor-tf32", "operations of tensor cores on tf32", {"sm__ops_path_tensor_src_tf32_dst_fp32.sum"}},
      {"tensor-fp16",
       "operations of tensor cores on fp16",
       {"sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_src_fp16_dst_fp32.sum"}},
      {"tensor-fp64", "operations of tensor cores on fp64", {"sm__ops_path_tensor_src_fp64.sum"}},
      {"tensor-fp8", "operations of tensor cores on fp8", {"sm__ops_path_tensor_src_fp8.sum"}},
      {"tensor-int8", "operations of tensor cores on int8", {"sm__ops_path_tensor_src_int8.sum"}},
      {"async-copies",
       "instructions that copy from global to shared memory",
       {"smsp__inst_executed_op_ldgsts.sum"}},
      {"bulk-read", "bytes that bulk copies (TMA) read", {"l1tex__m_xbar2l1tex_read_bytes_pipe_tma.sum"}},
      {"bulk-write", "bytes that bulk copies (TMA) write", {"l1tex__m_l1tex2xbar_write_bytes_pipe_tma.sum"}},
      {"load-sectors",
       "sectors of 32 bytes that global loads touch",
       {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum"}},
      {"load-bytes",
       "bytes that threads load",
       {"smsp__sass_data_bytes_mem_global_op_ld.sum"},
       {"load-sectors"}},
      {"store-sectors",
       "sectors of 32 bytes that global stores touch",
       {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum"}},
      {"store-bytes",
       "bytes that threads store",
       {"smsp__sass_data_bytes_mem_global_op_st.sum"},
       {"store-sectors"}},
      {"stall-memory",
       "cycles of warps that wait for global or local memory",
       {"smsp__warps_issue_stalled_long_scoreboard.sum"},
       {"warp-cycles"}},
      {"stall-memory-queue",
       "cycles of warps that wait for room in the queue to memory",
       {"smsp__warps_issue_stalled_lg_throttle.sum"},
       {"warp-cycles"}},
      {"stall-shared",
       "cycles of warps that wait for shared memory or a special function",
       {"smsp__warps_issue_stalled_short_scoreboard.sum"},
       {"warp-cycles"}},
      {"stall-shared-queue",
       "cycles of warps that wait for room in the queue to shared memory",
       {"smsp__warps_issue_stalled_mio_throttle.sum"},
       {"warp-cycles"}},
      {"stall-barrier",
       "cycles of warps that wait for other warps of the block",
       {"smsp__warps_issue_stalled_barrier.sum"},
       {"warp-cycles"}},
      {"stall-math",
       "cycles of warps that wait for a busy arithmetic unit",
       {"smsp__warps_issue_stalled_math_pipe_throttle.sum"},
       {"warp-cycles"}},
      {"stall-latency",
       "cycles of warps that wait for the instruction before",
       {"smsp__warps_issue_stalled_wait.sum"},
       {"warp-cycles"}},
      {"stall-fetch",
       "cycles of warps that wait for instructions",
       {"smsp__warps_issue_stalled_no_instruction.sum"},
       {"warp-cycles"}},
      {"stall-fence",
       "cycles of warps that wait for a memory fence",
       {"smsp__warps_issue_stalled_membar.sum"},
       {"warp-cycles"}},
      {"not-selected",
       "cycles of warps that are ready while another warp issues",
       {"smsp__warps_issue_stalled_not_selected.sum"},
       {"warp-cycles"}}};
  return counters;
}

std::vector<std::string> stall_counters() {
  std::vector<std::string> names = {"time", "cycles", "issued", "warp-cycles"};
  for (const GpuCounter& counter : all_counters())
    if (const std::string name = counter.name; name.starts_with("stall-") || name == "not-selected")
      names.push_back(name);
  return names;
}

const GpuCounter* find_counter(const std::string& name) {
  const auto it = std::ranges::find_if(all_counters(), [&](const auto& c) { return c.name == name; });
  return it == all_counters().end() ? nullptr : &*it;
}

// The metric of a counter on a chip; empty if it has none.
std::string metric_on_chip(const std::string& counter, const RunsOfMetrics& runs_of) {
  if (is_cupti_metric(counter)) return runs_of({counter}) > 0 ? counter : "";
  for (const char* metric : find_counter(counter)->metrics)
    if (runs_of({metric}) > 0) return metric;
  return "";
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

CounterPass merged(const CounterPass& pass, const CounterPass& more) {
  CounterPass both = pass;
  for (std::size_t i = 0; i < more.counters.size(); ++i)
    if (!contains(both.counters, more.counters[i]))
      both.counters.push_back(more.counters[i]), both.metrics.push_back(more.metrics[i]);
  return both;
}

}  // namespace

std::span<const GpuCounter> gpu_counters() { return all_counters(); }

std::span<const GpuCounterSet> gpu_counter_sets() {
  static const GpuCounterSet sets[] = {
      {"seed",
       "what kernels execute, and how they branch",
       {"time", "cycles", "instructions", "issued", "warp-cycles", "global-loads", "global-stores", "atomics",
        "reductions", "dram-read", "dram-write", "l2-bytes", "branches", "divergent-branches",
        "sass-instructions", "lane-instructions"}},
      {"flops",
       "floating-point operations, of threads and of tensor cores",
       {"fp32-fma", "fp32-add", "fp32-mul", "fp64-fma", "fp64-add", "fp64-mul", "time", "cycles",
        "tensor-instructions", "tensor-bf16", "tensor-tf32", "tensor-fp16", "tensor-fp64", "tensor-fp8",
        "tensor-int8"}},
      {"memory",
       "bytes of DRAM and L2, and how much of them threads use",
       {"time", "dram-read", "dram-write", "l2-bytes", "l2-sectors", "async-copies", "bulk-read",
        "bulk-write", "load-sectors", "load-bytes", "store-sectors", "store-bytes"}},
      {"stalls", "why warps wait", stall_counters()}};
  return sets;
}

bool is_cupti_metric(const std::string& counter) { return counter.find("__") != std::string::npos; }

std::vector<std::string> gpu_counters_named(const std::string& request) {
  std::vector<std::string> known, chosen;
  for (const GpuCounterSet& set : gpu_counter_sets()) known.emplace_back(set.name);
  for (const GpuCounter& counter : gpu_counters()) known.emplace_back(counter.name);
  const auto add = [&](const std::string& name) {
    if (!contains(chosen, name)) chosen.push_back(name);
  };
  for (const std::string& word : split(request, ',')) {
    const auto set = std::ranges::find_if(gpu_counter_sets(), [&](const auto& s) { return s.name == word; });
    if (set != gpu_counter_sets().end()) {
      for (const std::string& name : set->counters) add(name);
    } else if (is_cupti_metric(word)) {
      if (!word.ends_with(".sum"))
        reject(Hint{"name a metric that ends in .sum: kernels add up to layers"},
               "the metric '{}' is not a sum", word);
      add(word);
    } else if (contains(known, word)) {
      add(word);
    } else {
      reject(nearest(word, known), "GPUs have no counter '{}'", word);
    }
  }
  return chosen;
}

int CounterPasses::runs() const {
  return std::accumulate(passes.begin(), passes.end(), 0,
                         [](int sum, const CounterPass& pass) { return sum + pass.runs; });
}

std::string CounterPasses::text() const {
  std::vector<std::string> parts;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    const std::string steps = passes[p].runs > 1 ? fmt::format(" ({} steps)", passes[p].runs) : "";
    parts.push_back(fmt::format("pass {}{}: {}", p + 1, steps, fmt::join(passes[p].counters, ", ")));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

CounterPasses split_into_passes(const std::vector<std::string>& counters, const std::string& chip,
                                const RunsOfMetrics& runs_of) {
  CounterPasses all{.chip = chip};
  for (const std::string& counter : counters) {
    CounterPass wanted;
    std::vector<std::string> names = {counter};
    if (const GpuCounter* known = find_counter(counter))
      names.insert(names.end(), known->with.begin(), known->with.end());
    for (const std::string& name : names)
      if (const std::string metric = metric_on_chip(name, runs_of); !metric.empty())
        wanted.counters.push_back(name), wanted.metrics.push_back(metric);
    if (!contains(wanted.counters, counter)) {
      all.missing.push_back(counter);
      continue;
    }
    const auto has_room = [&](const CounterPass& pass) {
      const CounterPass both = merged(pass, wanted);
      return both.counters.size() == pass.counters.size() || runs_of(both.metrics) == 1;
    };
    const auto pass = std::ranges::find_if(all.passes, has_room);
    if (pass != all.passes.end()) {
      *pass = merged(*pass, wanted);
    } else {
      wanted.runs = runs_of(wanted.metrics);
      all.passes.push_back(std::move(wanted));
    }
  }
  return all;
}

std::string counter_key(std::size_t pass, const std::string& counter) {
  return fmt::format("{}:{}", pass, counter);
}

}  // namespace headroom
