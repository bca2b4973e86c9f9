#pragma once

#include "graph/graph.h"
#include "headroom/net.h"
#include "models/layers.h"
#include "models/onnx/imported.h"
#include "passes/passes.h"
#include "plan/plan.h"
#include "train/update.h"

namespace headroom {

// A network with a task: the graph and the values a trainer touches. Eval programs end at loss and correct.
struct Program {
  Graph graph;
  ValueId images = kNone, labels = kNone;  // a network that reconstructs has no labels
  ValueId logits = kNone;
  std::int64_t labels_each = 1;  // of one item: as many as it has tokens, where each has an answer
  ValueId loss = kNone;  // mean over the batch of what the network says, plus the L2 penalty if there is one
  ValueId correct = kNone;            // how many of the batch are right; classifiers only
  ValueId own_loss = kNone;           // of several ranks: this one's part of the loss, after the forward pass
  ValueId stop = kNone;               // of several ranks: how many of them were told to stop
  std::vector<Port> inputs, outputs;  // of the network itself, by name
  // Of a network from a file: what is not known of it, and where what is known ends.
  std::vector<UnknownNode> unknown;
  std::vector<std::string> unreached;
  std::vector<ValueId> ends;
};

struct ProgramOptions {
  DType dtype = DType::f32;  // 16-bit types: of activations and working weights; the rest is fp32
  std::uint64_t seed = 0;    // of dropout
  Update update;
  bool tally = false;      // training adds up loss and correct answers on the device; see ops/tally
  bool fuse_head = false;  // training: the end of a classifier as one node; see passes/head.cc
  LayoutWish layout = LayoutWish::nchw;  // of convolutions, on the device of `capabilities`
  Capabilities capabilities = {};        // a plan's device, for choices that are made in the graph
  bool fuse_blocks = false;     // evaluation on a CPU: convolutions with what follows; see passes/blocks.cc
  bool keep_gradients = false;  // every parameter's stays readable after a run, for tests; see gradient_of
  // Of a batch that is spread over ranks: what all of them have together, and the place of the first here.
  Distribution ranks = {};
  std::int64_t global_batch = 0, first_item = 0;
};

// The scalar by which a rank tells the others that it was told to stop.
inline constexpr const char* kStop = "stop";

// Where a training program with a tally keeps its sums.
inline constexpr const char* kTally = "tally";

// Lowers a network for one binding: forward, loss, and for training its gradients and updates; then fuses.
Program make_program(const Net& net, Mode mode, std::int64_t batch, const ProgramOptions& options);

// Rejects a network of which part is not known, naming the first such node. For whoever runs make_forward.
void require_complete(const Program& program, const Net& net);

// The gradient of a parameter in a program made with keep_gradients.
ValueId gradient_of(const Program& program, std::string_view parameter);

// By the rules of the convnet benchmarks: the forward pass of training, then the gradients of all parameters
// with the output as its own gradient, and of the images where wanted. No loss, no update.
Program make_self_gradient(const Net& net, std::int64_t batch, const ProgramOptions& options,
                           bool of_images = false);

// Just the forward pass: from inputs to outputs. Other programs are told of the nodes before they are fused;
// blocks: see fuse_blocks.
enum class Fusion { none, plain, blocks };
Program make_forward(const Net& net, std::int64_t batch, DType dtype, Fusion fusion = Fusion::plain,
                     const Distribution& ranks = {});

}  // namespace headroom
