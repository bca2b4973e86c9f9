#pragma once

#include <string>
#include <vector>

#include "models/onnx/flow.h"

namespace headroom::onnx {

// A way from a stored tensor through nodes that read no data to the node where it meets the data.
struct Path {
  std::string at;            // the name reached so far
  bool moved = true;         // its elements were moved, nothing else
  bool shifted = true;       // moved, or a number was added: variance + epsilon
  bool weighs = false;       // it is the weight of a layer on the way: a network that computes a table
  bool angle = false;        // it went through a sine or cosine
  bool root = false;         // its own square root was taken: a variance
  bool gathered = false;     // rows of it were chosen
  bool transformed = false;  // a function keeps it in range: exp of a logarithmic scale
  Use meeting = {};          // the node and the input where it meets the data
};

// All ways along which a gradient comes back.
std::vector<Path> paths_of(const Flow& flow, const std::string& name);

// Inputs that hold the weights of a layer whatever they contain.
bool is_weight_input(std::string_view op, int input);

}  // namespace headroom::onnx
