#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string_view>

#include "comm/groups.h"
#include "graph/graph.h"
#include "ops/target.h"

namespace headroom {

// Folds an activation into the linear or conv2d node before it, and an activation's gradient into the matmul
// or max_pool_grad before it, if nothing else reads the value between them. Lets the loss count the correct
// rows. Merges the optimizer's updates into one node. Fused nodes keep a charge for every layer they serve.
void fuse(Graph& graph);

// Replaces a classifier's last linear layer, its cross-entropy and the gradients of both, up to the layer
// before, with one classifier_head. Only if the graph has exactly these and the operator's GPU kernel
// supports the sizes; leaves other graphs unchanged. For training graphs after fuse and drop_unused.
void fuse_head(Graph& graph);

// Replaces a classifier's head, its only hidden layer and the gradient of that layer's weights with one
// mlp_classifier, if `wanted` says yes to it. For training graphs after fuse_head.
void fuse_small_classifier(Graph& graph, const std::function<bool(const Problem&)>& wanted);

// Lets an mlp_classifier update its parameters itself, where plain sgd does that and nobody else reads their
// gradients, and add penalty and tally to its loss, if `wanted` says yes to it.
void fuse_classifier_update(Graph& graph, const std::function<bool(const Problem&)>& wanted);

// Folds normalisation by stored statistics, the sum of a residual connection and an activation or clip into
// the convolution before them, as one conv2d_block. For evaluation on a CPU in fp32 or fp64: the operator has
// no gradient, and its GPU kernels take other parts.
void fuse_blocks(Graph& graph);

// Merges a convolution, its activation and the pooling after it into one conv2d_block, if nothing else reads
// the values between them and `wanted` says yes to the block. Maximum and activation may stand in either
// order. For forward graphs after fuse.
void fuse_pools(Graph& graph, const std::function<bool(const Problem&)>& wanted);

// Splits the factors of products in parts of fp16 once for all products that read them (ops/fp16_parts), if
// `wanted` says yes to the product: a matrix is often a factor forward and backward. Lets a classifier's head
// write its gradient in parts. For finished graphs that run on a GPU.
void share_parts(Graph& graph, int parts, const std::function<bool(const Problem&)>& wanted);

// A layer of the network's own input, and the gradient of its weights: the input is a factor of both.
struct InputProducts {
  Problem layer, gradient;
};
std::vector<InputProducts> products_of_inputs(const Graph& graph);

// Removes nodes whose results nobody reads: not in graph.outputs and not an update of storage.
void drop_unused(Graph& graph);

// Who chooses the memory layout: the pass, by estimated cost, or the user.
enum class LayoutWish { automatic, nchw, nhwc };
std::optional<LayoutWish> parse_layout_wish(std::string_view name);  // "auto", "nchw", "nhwc"

// Puts convolutions and the nodes between them in NHWC, if the device has kernels for that and the
// convolutions are large enough to pay. Adds relayout nodes at the borders: images, filters, their gradients,
// and readers that need NCHW. Outputs for the caller stay NCHW. Then runs fuse_norms. For finished graphs, as
// the last pass; `automatic` leaves other devices unchanged.
void lay_out(Graph& graph, const Target& target, LayoutWish wish);

// Merges all casts of parameters to 16-bit into one node, and those of small gradients back into another:
// many small tensors cost one launch. For finished graphs that run on a GPU.
void gather_casts(Graph& graph);

// Folds relu, or the sum of a residual connection and relu, into the batch_norm before it, and their
// gradients into its gradient. Folds the gradient of relu into a bias_grad that reads it. Only if the device
// has a kernel for the combination.
void fuse_norms(Graph& graph, const Target& target);

// Splits pairs of linear layers with only elementwise functions between them. Each rank holds some rows of
// the first layer and the matching columns of the second; one sum over ranks completes the pair's output.
// Everything else stays on every rank. Returns the number of pairs. For forward graphs.
int split_linears(Graph& graph, const Distribution& how);

// Sums gradients of parameters over the data parts. Starts an exchange when a gradient becomes final, small
// ones together; the update phase waits. Returns the sums. With `in_bands`, a large product of two matrices
// is exchanged in bands while it is computed. For parameters with is_sharded, a large gradient is valid only
// in the rank's own share. For graphs before their updates.
std::map<ValueId, ValueId> reduce_gradients(Graph& graph, const std::map<ValueId, ValueId>& gradients,
                                            const Distribution& how, bool in_bands);

// True if each rank updates a share of this parameter and then sends it to the others.
bool is_sharded(const Value& parameter, const Distribution& how);

// Lets batch_norm use the statistics of the whole batch, `global_batch` images on all ranks of the data
// parts. For forward graphs of training.
void sync_norms(Graph& graph, std::int64_t global_batch);

// Sums the scalars of a step's report over a group. The sums start with the backward pass and are ready in
// the update phase.
std::vector<ValueId> reduce_report(Graph& graph, const std::vector<ValueId>& scalars, std::string_view group);

// Converts a forward fp32 graph to 16-bit: nodes read 16-bit copies of activations and parameters, except
// what their operators keep in fp32. Parameters stay fp32: updates change these masters. Gradients are
// correct because casts are nodes like any other. Gradients are multiplied by `gradient_scale` when they
// enter the 16-bit part and divided when they leave it, so that small ones do not vanish.
struct Graph16Bit {
  Graph graph;
  std::vector<ValueId> value;  // by value id of the old graph
};
Graph16Bit to_16bit(const Graph& graph, DType dtype, double gradient_scale);
// A value of any float type as fp32: the value itself, or a cast of it.
ValueId as_fp32(Graph& graph, ValueId value, const std::string& layer, double gradient_scale);

}  // namespace headroom
