#pragma once

#include "graph/graph.h"
#include "headroom/net.h"
#include "models/layers.h"
#include "plan/plan.h"
#include "train/update.h"

namespace headroom {

// A network with a task: the graph and the values a trainer touches. Eval programs end at loss and correct.
struct Program {
  Graph graph;
  ValueId images = kNone, labels = kNone;  // a network that reconstructs has no labels
  ValueId logits = kNone;
  ValueId loss = kNone;  // mean over the batch of what the network says, plus the L2 penalty if there is one
  ValueId correct = kNone;  // how many of the batch are right; classifiers only
};

struct ProgramOptions {
  DType dtype = DType::f32;  // 16-bit types: of activations and working weights; the rest is fp32
  std::uint64_t seed = 0;    // of dropout
  Update update;
  bool tally = false;           // training adds up loss and correct answers on the device; see ops/tally
  bool fuse_head = false;       // training: the end of a classifier as one node; see passes/head.cc
  bool keep_gradients = false;  // every parameter's stays readable after a run, for tests; see gradient_of
};

// Where a training program with a tally keeps its sums.
inline constexpr const char* kTally = "tally";

// Lowers a network for one binding: forward, loss, and for training its gradients and updates; then fuses.
Program make_program(const Net& net, Mode mode, std::int64_t batch, const ProgramOptions& options);

// The gradient of a parameter in a program made with keep_gradients.
ValueId gradient_of(const Program& program, std::string_view parameter);

// By the rules of the convnet benchmarks: the forward pass of training, then the gradients of all parameters with
// the output as its own gradient, and of the images where wanted. No loss, no update.
Program make_self_gradient(const Net& net, std::int64_t batch, DType dtype, bool of_images = false);

// Just the forward pass, for inference costs: images to logits.
Program make_forward(const Net& net, std::int64_t batch, DType dtype);

}  // namespace headroom
