#pragma once

// Recurrent layers in forms that our operators lack: peepholes, clip, coupled gates, unusual functions. Every
// step becomes nodes of its own, so that they run on any device and have gradients.

#include "models/onnx/terms.h"

namespace headroom::onnx {

struct GateFunction {
  std::string name;  // in lower case
  double alpha = 0, beta = 0;
};

struct RecurrentForm {
  std::string op;                    // "lstm", "gru" or "rnn"
  bool reversed = false;             // the first direction runs backwards; a second one always does
  bool linear_before_reset = false;  // of a gru
  bool input_forget = false;         // of an lstm: the forget gate is 1 - the input gate
  double clip = 0;                   // bounds what functions of gates get; 0: no bound
  std::vector<std::vector<GateFunction>> functions;  // of each direction
  Term x, w, r;                                      // [seq, batch, input], [dirs, gates h, input or h]
  std::optional<Term> bias, peepholes, lengths;      // [dirs, 2 gates h], [dirs, 3 h], [batch]
  std::vector<Term> initial;                         // h, and c of an lstm, [dirs, batch, h]; empty: zeros
};

// Y [seq, dirs, batch, h], then the last states [dirs, batch, h].
std::vector<Term> recurrent_steps(Context& c, const RecurrentForm& form);

}  // namespace headroom::onnx
