// Recurrent layers: directions, gates and their order are the same as in ONNX.
#include "models/onnx/write_node.h"
#include "ops/recurrent/recurrent.h"

namespace headroom::onnx {
namespace {

// X, W, R, B, lengths, then the first states. An absent one has no name.
Names inputs_of(NodeWriter& n, const RecurrentProblem& r) {
  const std::size_t first = r.bias ? 4 : 3, last = n.inputs() - (r.lengths ? 1 : 0);
  Names in = {n.input(0), n.input(1), n.input(2)};
  if (r.bias) in.push_back(n.input(3));
  if (!r.initial && !r.lengths) return in;
  in.resize(5);
  if (r.lengths)  // ONNX has them as int32
    in[4] = r.wide_lengths ? n.part("Cast", {n.input(last)}, {{"to", std::int64_t{onnx_type(DType::i32)}}})
                           : n.input(last);
  for (std::size_t i = first; i < last; ++i) in.push_back(n.input(i));
  return in;
}

void recurrent(NodeWriter& n) {
  const RecurrentProblem r = recurrent_problem(n.problem());
  Attrs attributes{{"hidden_size", r.hidden}, {"direction", n.attrs().text("direction", "forward")}};
  if (r.linear_before_reset) attributes.set("linear_before_reset", std::int64_t{1});
  n.read_results(r.kind == CellKind::lstm  ? "LSTM"
                 : r.kind == CellKind::gru ? "GRU"
                                           : "RNN",
                 inputs_of(n, r), attributes);
  if (r.relu) n.set_texts("activations", Names(static_cast<std::size_t>(r.dirs), "Relu"));
}

}  // namespace

std::vector<Writing> recurrent_writings() {
  return {{"lstm", recurrent}, {"gru", recurrent}, {"rnn", recurrent}};
}

}  // namespace headroom::onnx
