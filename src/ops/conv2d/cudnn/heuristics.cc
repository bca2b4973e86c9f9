#include "ops/conv2d/cudnn/heuristics.h"

#ifdef HEADROOM_HAS_CUDNN

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "ops/conv2d/cudnn/library.h"
#include "ops/cuda/launch.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace headroom {
namespace {

// One object of the interface. Its calls answer whether they succeeded: what the library does not know is no
// error here: there are other candidates.
class Object {
 public:
  explicit Object(cudnnBackendDescriptorType_t type) {
    if (cudnn().BackendCreateDescriptor(type, &handle_) != CUDNN_STATUS_SUCCESS) handle_ = nullptr;
  }
  ~Object() {
    if (handle_ != nullptr) cudnn().BackendDestroyDescriptor(handle_);
  }
  Object(Object&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Object& operator=(Object&&) = delete;

  cudnnBackendDescriptor_t handle() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

  bool set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count,
           const void* values) const {
    return handle_ != nullptr &&
           cudnn().BackendSetAttribute(handle_, name, type, count, values) == CUDNN_STATUS_SUCCESS;
  }
  bool set(cudnnBackendAttributeName_t name, const Object& object) const {
    const cudnnBackendDescriptor_t handle = object.handle();
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &handle);
  }
  template <std::size_t N>
  bool set(cudnnBackendAttributeName_t name, const std::array<std::int64_t, N>& values) const {
    return set(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(N), values.data());
  }
  bool finalize() const {
    return handle_ != nullptr && cudnn().BackendFinalize(handle_) == CUDNN_STATUS_SUCCESS;
  }

 private:
  cudnnBackendDescriptor_t handle_ = nullptr;
};

// Names of the three tensors in a plan.
enum Uid : std::int64_t { kX = 'x', kW = 'w', kY = 'y' };

Object tensor_of(Uid uid, const TensorType& type) {
  const Shape& s = type.shape;
  Object t(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const cudnnDataType_t dtype = cudnn_type(type.dtype);
  const std::array<std::int64_t, 1> id = {uid}, alignment = {16};
  t.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &dtype);
  t.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::array<std::int64_t, 4>{s[0], s[1], s[2], s[3]});
  t.set(CUDNN_ATTR_TENSOR_STRIDES, std::array<std::int64_t, 4>{s[1] * s[2] * s[3], 1, s[1] * s[3], s[1]});
  t.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id);
  t.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignment);
  t.finalize();  // what failed shows where it is used
  return t;
}

Object convolution_of(const Window2d& w) {
  Object c(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  const cudnnDataType_t sums = CUDNN_DATA_FLOAT;
  const cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  const auto pair = [](const Extent2d& e) { return std::array<std::int64_t, 2>{e.h, e.w}; };
  c.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, &sums);
  c.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, &mode);
  c.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::array<std::int64_t, 1>{2});
  c.set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pair(w.pad));
  c.set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS,
        pair(w.pad));  // cudnn.cc takes only padding that is the same at both ends
  c.set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, pair(w.stride));
  c.set(CUDNN_ATTR_CONVOLUTION_DILATIONS, pair(w.dilation));
  c.finalize();
  return c;
}

// How the interface calls the parts of each of the three products.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, convolution, alpha, beta;
};
Names names_of(const std::string& op) {
  if (op == "conv2d_grad_input")
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
  if (op == "conv2d_grad_weight")
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
}

struct Tensors {
  TensorType x, w, y;
};
Tensors tensors_of(const Problem& p) {
  if (p.op == "conv2d_grad_input") return {p.outputs[0], p.inputs[1], p.inputs[0]};
  if (p.op == "conv2d_grad_weight") return {p.inputs[0], p.outputs[0], p.inputs[1]};
  return {p.inputs[0], p.inputs[1], p.outputs[0]};
}

// The problem in the library's terms; whether all of it went well.
struct OperationGraph {
  Object x, w, y, convolution, operation, graph;
  bool ok = false;

  OperationGraph(const Problem& p, cudnnHandle_t handle)
      : x(tensor_of(kX, tensors_of(p).x)),
        w(tensor_of(kW, tensors_of(p).w)),
        y(tensor_of(kY, tensors_of(p).y)),
        convolution(convolution_of(parse_conv2d(p).window)),
        operation(names_of(p.op).operation),
        graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR) {
    const Names names = names_of(p.op);
    const float one = 1, zero = 0;
    const cudnnBackendDescriptor_t all[] = {operation.handle()};
    ok = operation.set(names.x, x) && operation.set(names.w, w) && operation.set(names.y, y) &&
         operation.set(names.convolution, convolution) &&
         operation.set(names.alpha, CUDNN_TYPE_FLOAT, 1, &one) &&
         operation.set(names.beta, CUDNN_TYPE_FLOAT, 1, &zero) && operation.finalize() &&
         graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, all) &&
         graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) && graph.finalize();
  }
};

// Does the kernel behind a configuration only sum products, and repeat if it must?
bool is_suitable(const Object& config, bool deterministic) {
  const Object engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t handle = engine.handle();
  std::int64_t count = 0;
  if (!engine ||
      cudnn().BackendGetAttribute(config.handle(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                  1, &count, &handle) != CUDNN_STATUS_SUCCESS)
    return false;
  std::array<cudnnBackendNumericalNote_t, CUDNN_NUMERICAL_NOTE_TYPE_COUNT> notes;
  if (cudnn().BackendGetAttribute(engine.handle(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                                  CUDNN_TYPE_NUMERICAL_NOTE, static_cast<std::int64_t>(notes.size()), &count,
                                  notes.data()) != CUDNN_STATUS_SUCCESS)
    return false;
  const auto known = notes.begin() + std::min<std::int64_t>(count, std::ssize(notes));
  return std::none_of(notes.begin(), known, [&](cudnnBackendNumericalNote_t note) {
    return note == CUDNN_NUMERICAL_NOTE_FFT || note == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
           note == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS ||
           (note >= CUDNN_NUMERICAL_NOTE_WINOGRAD && note <= CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13) ||
           (deterministic && note == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  });
}

// The configurations that heuristics rank, best first.
std::vector<Object> configurations(const OperationGraph& problem, cudnnBackendHeurMode_t mode) {
  constexpr std::int64_t kMaxConfigurations = 32;
  const Object heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  std::vector<Object> configs;
  if (!heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, problem.graph) ||
      !heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode) || !heuristics.finalize())
    return configs;
  std::vector<cudnnBackendDescriptor_t> handles;
  for (std::int64_t i = 0; i < kMaxConfigurations; ++i) {
    configs.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    handles.push_back(configs.back().handle());
  }
  std::int64_t count = 0;
  if (cudnn().BackendGetAttribute(heuristics.handle(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                                  CUDNN_TYPE_BACKEND_DESCRIPTOR, kMaxConfigurations, &count,
                                  handles.data()) != CUDNN_STATUS_SUCCESS)
    count = 0;
  while (std::ssize(configs) > std::min(count, kMaxConfigurations)) configs.pop_back();
  return configs;
}

// Everything a launch needs; the plan holds on to its configuration.
struct LibraryPlan {
  std::shared_ptr<const OperationGraph> problem;
  Object config, plan;
  cudnnHandle_t handle;
  std::string op;
};

void execute(const LibraryPlan& p, const LaunchArgs& a) {
  const bool input = p.op == "conv2d_grad_input", weight = p.op == "conv2d_grad_weight";
  void* pointers[] = {input ? a.outputs[0] : const_cast<void*>(a.inputs[0]),
                      weight ? a.outputs[0] : const_cast<void*>(a.inputs[1]),
                      input    ? const_cast<void*>(a.inputs[0])
                      : weight ? const_cast<void*>(a.inputs[1])
                               : a.outputs[0]};
  const std::array<std::int64_t, 3> ids = {kX, kW, kY};
  void* workspace = a.workspace;
  const Object pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const bool ok = pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 3, pointers) &&
                  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids) &&
                  pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace) &&
                  pack.finalize();
  if (!ok) fail("cuDNN: pointers of a convolution were not taken");
  HEADROOM_CUDNN_CHECK(cudnn().SetStream(p.handle, cuda::stream_of(a)));
  HEADROOM_CUDNN_CHECK(cudnn().BackendExecute(p.handle, p.plan.handle(), pack.handle()));
}

// Null where the library cannot make it, or it wants more workspace than there is.
std::shared_ptr<const LibraryPlan> plan_of(const std::shared_ptr<const OperationGraph>& problem,
                                           Object config, cudnnHandle_t handle, const std::string& op,
                                           std::size_t workspace) {
  Object plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (!plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, &handle) ||
      !plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config) || !plan.finalize())
    return nullptr;
  std::int64_t bytes = 0, count = 0;
  if (cudnn().BackendGetAttribute(plan.handle(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
                                  1, &count, &bytes) != CUDNN_STATUS_SUCCESS ||
      bytes > static_cast<std::int64_t>(workspace))
    return nullptr;
  return std::make_shared<const LibraryPlan>(
      LibraryPlan{problem, std::move(config), std::move(plan), handle, op});
}

}  // namespace

struct CudnnHeuristics::Parts {
  std::shared_ptr<const OperationGraph> graph;
  std::vector<Object> configs;  // suitable ones, best first; moved out of once tried
  std::map<std::size_t, std::shared_ptr<const LibraryPlan>> plans;  // tried so far; null: cannot be made
  cudnnHandle_t handle = nullptr;
  std::string op;
  std::size_t workspace = 0;
};

CudnnHeuristics::CudnnHeuristics(const Problem& p, bool deterministic, std::size_t workspace)
    : parts_(std::make_unique<Parts>()) {
  parts_->handle = cudnn_handle();
  parts_->op = p.op;
  parts_->workspace = workspace;
  parts_->graph = std::make_shared<const OperationGraph>(p, parts_->handle);
  if (!parts_->graph->ok) return;
  for (Object& config : configurations(*parts_->graph, CUDNN_HEUR_MODE_A))
    if (is_suitable(config, deterministic)) parts_->configs.push_back(std::move(config));
}
CudnnHeuristics::~CudnnHeuristics() = default;

Launcher CudnnHeuristics::launcher(std::size_t rank, const Launcher& finish) {
  Parts& q = *parts_;
  if (rank >= q.configs.size()) return {};
  auto it = q.plans.find(rank);
  if (it == q.plans.end())
    it = q.plans.emplace(rank, plan_of(q.graph, std::move(q.configs[rank]), q.handle, q.op, q.workspace))
             .first;
  if (it->second == nullptr) return {};
  return [plan = it->second, finish](const LaunchArgs& a) {
    execute(*plan, a);
    if (finish) finish(a);
  };
}

}  // namespace headroom

#endif
