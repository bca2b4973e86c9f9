#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "comm/groups.h"
#include "device/capabilities.h"
#include "graph/graph.h"

namespace headroom {

// Folds an activation into the linear or conv2d node before it and the gradient of one into the matmul or
// max_pool_grad before it, where nothing else reads what is between them, has the loss count the correct
// rows, and gathers the optimizer's updates into one node. Fused nodes keep a charge for every layer they
// serve.
void fuse(Graph& graph);

// Puts one classifier_head in the place of a classifier's last linear layer, its cross-entropy and the
// gradients of both, up to that of the layer before, where the graph has exactly these and the operator's
// GPU kernel takes the sizes; leaves any other graph alone. For training graphs after fuse and drop_unused.
void fuse_head(Graph& graph);

// Puts normalisation by stored statistics, the sum of a residual connection and an activation or clip into
// the convolution before them, as one conv2d_block. For graphs to be evaluated on a CPU in fp32 or fp64: the
// operator has neither a gradient nor kernels for GPUs.
void fuse_blocks(Graph& graph);

// Removes nodes whose results nobody reads: neither graph.outputs nor an update of storage.
void drop_unused(Graph& graph);

// Who decides how tensors lie in memory: the pass, by what it expects to pay, or the user.
enum class LayoutWish { automatic, nchw, nhwc };
std::optional<LayoutWish> parse_layout_wish(std::string_view name);  // "auto", "nchw", "nhwc"

// Puts convolutions and what lies between them in NHWC, where the device has kernels for that and the
// convolutions are large enough to pay, and relayout nodes at the borders: images, filters, their gradients,
// and readers that take NCHW. Values that the caller reads stay NCHW. Then folds what normalisations there
// are: see fuse_norms. For finished graphs, as the last pass; `automatic` leaves any other device alone.
void lay_out(Graph& graph, const Capabilities& capabilities, LayoutWish wish);

// Makes one node of all casts of parameters to 16 bits, and one of those of small gradients back: many small
// tensors cost one start. For finished graphs that run on a GPU.
void gather_casts(Graph& graph);

// Folds relu, or the sum of a residual connection and relu, into the batch_norm before it, and their
// gradients into its gradient, or that of relu into a bias_grad of it, where the device has a kernel that
// takes them together.
void fuse_norms(Graph& graph, const Capabilities& capabilities);

// Cuts pairs of linear layers with nothing but elementwise functions between them: of the first each rank
// holds some of the rows, of the second the columns that go with them, and one sum over ranks completes the
// pair's output. All else stays on every rank. Returns how many pairs it found. For forward graphs.
int split_linears(Graph& graph, const Distribution& how);

// Sums gradients of parameters over the data parts: starts an exchange wherever one becomes final, small ones
// together, and has the update phase wait. Returns the sums. Where `in_bands`, a large product of two
// matrices is exchanged in bands while it is computed. Of parameters that is_sharded, large gradients are
// right in the rank's own share alone. For graphs before their updates.
std::map<ValueId, ValueId> reduce_gradients(Graph& graph, const std::map<ValueId, ValueId>& gradients,
                                            const Distribution& how, bool in_bands);

// Does each rank update a share of this parameter, and then hand it to the others?
bool is_sharded(const Value& parameter, const Distribution& how);

// Has batch_norm take the statistics of the whole batch, `global_batch` images on all ranks of the data
// parts. For forward graphs of training.
void sync_norms(Graph& graph, std::int64_t global_batch);

// The sums over a group of scalars that a step is reported by; begun with the backward pass, ready in the
// update phase.
std::vector<ValueId> reduce_report(Graph& graph, const std::vector<ValueId>& scalars, std::string_view group);

// A forward graph in fp32, to be computed in 16 bits: nodes read 16-bit copies of activations and parameters,
// but for what their operators keep in fp32; parameters themselves stay fp32, the masters that updates
// change. Gradients come out right because the casts are nodes like any other. `gradient_scale` multiplies
// gradients on their way into the 16-bit part and divides them on their way out, lest small ones vanish.
struct Narrowed {
  Graph graph;
  std::vector<ValueId> value;  // by the old graph's ids
};
Narrowed narrowed(const Graph& graph, DType dtype, double gradient_scale);
// A value of any float type as fp32: itself, or a cast.
ValueId as_fp32(Graph& graph, ValueId value, const std::string& layer, double gradient_scale);

}  // namespace headroom
