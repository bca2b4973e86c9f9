#pragma once

#include "graph/graph.h"
#include "headroom/net.h"
#include "models/layers.h"
#include "models/onnx/imported.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "train/update.h"

namespace headroom {

// A network with a task: the graph and the values a trainer uses. Eval programs end at loss and correct.
struct Program {
  Graph graph;
  ValueId images = kNone, labels = kNone;  // a network that reconstructs has no labels
  ValueId logits = kNone;
  std::int64_t labels_each = 1;       // per item: one per token if each has an answer
  ValueId loss = kNone;               // mean over the batch of the network's loss, plus the L2 penalty if any
  ValueId correct = kNone;            // number of correct items; classifiers only
  ValueId own_loss = kNone;           // with several ranks: this rank's part of the loss
  ValueId stop = kNone;               // with several ranks: how many were told to stop
  std::vector<Port> inputs, outputs;  // of the network itself, by name
  // For a network from a file: its unknown nodes, and the values where the known part ends.
  std::vector<UnknownNode> unknown;
  std::vector<std::string> unreached;
  std::vector<ValueId> ends;
};

// Passes that rewrite the lowered graph: none, those valid on any device, or all that the target supports.
enum class Fusion { none, portable, device };

// Whether a step is one batch, or one of several whose gradients are added up before the update.
enum class Accumulate {
  none,
  collect,  // adds its gradients to those of the batches before
  apply     // the last of them: updates with the sum
};
inline constexpr std::string_view kAccumulated = ".accumulated";  // after a parameter's name: the sum so far

// Everything a plan depends on beside the network. See train/build.h for the only way from here to a plan.
struct BuildRequest {
  Mode mode = Mode::train;
  std::int64_t batch = 1;
  DType precision = DType::f32;  // 16-bit: of activations and working weights; the rest is fp32
  Target target = {};            // the device, what the user allows, and the ranks
  std::uint64_t seed = 0;        // of dropout
  Update update = {};
  double label_smoothing = 0;  // training: share of the target that all classes divide equally
  Accumulate accumulate = Accumulate::none;
  LayoutWish layout = LayoutWish::automatic;
  Fusion fusion = Fusion::device;
  int streams = 1;               // of a captured run; see plan/streams.h
  bool keep_gradients = false;   // every gradient stays readable after a run, for tests; see gradient_of
  bool image_gradients = false;  // Mode::gradients: also for the images
  bool fed_by_loader = false;    // Mode::infer: tokens are int32, as the loader gives them
  // For a batch shared by ranks or taken in several steps: all its items, and the position of the first here.
  std::int64_t global_batch = 0, first_item = 0;
  Chooser choose = first_that_accepts;
};

// The effect of one pass on the graph.
struct PassReport {
  std::string pass;
  std::string change;  // "41 -> 33 nodes: relu -4, sgd -8, sgd_all +1"; empty: nothing
};

// The scalar by which a rank tells the others that it should stop.
inline constexpr const char* kStop = "stop";

// Name of the sums of a training program with a tally.
inline constexpr const char* kTally = "tally";

// The batch that is planned: some files set their own.
std::int64_t planned_batch(const Net& net, const BuildRequest& request);

// The graph half of a build: lowers the network, then runs the passes of `pass_names` that apply.
// Mode::train: forward, loss, gradients, updates. Mode::eval: forward, loss, correct count. Mode::infer: from
// inputs to outputs, even if part of the network is unknown. Mode::gradients, by the rules of the convnet
// benchmarks: the forward pass of training, then all gradients with the output as its own gradient.
Program make_program(const Net& net, const BuildRequest& request, std::vector<PassReport>* reports = nullptr);
std::vector<std::string> pass_names();  // in order
// The same in two parts, for one network on many machines. The first part is the same for all devices of a
// kind; the second asks the target what its kernels accept.
Program make_common(const Net& net, const BuildRequest& request, std::vector<PassReport>* reports = nullptr);
Program finish_program(Program common, const Net& net, const BuildRequest& request,
                       std::vector<PassReport>* reports = nullptr);

// The forward pass for inspection: its ports, its costs, its unknown nodes. For no particular device.
Program make_forward(const Net& net, std::int64_t batch, DType dtype, Fusion fusion = Fusion::portable);

// Rejects a network with unknown nodes, naming the first. Call it before running one.
void require_complete(const Program& program, const Net& net);

// The gradient of a parameter in a program made with keep_gradients.
ValueId gradient_of(const Program& program, std::string_view parameter);

}  // namespace headroom
