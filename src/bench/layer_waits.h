#pragma once

#include <string>
#include <vector>

#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

// A layer timed alone: from an idle device to the end of the layer.
struct WaitedLayer {
  std::string layer, operators;
  Spread seconds;
};

// A whole forward pass compared with the sum of its layers. The host runs ahead of a device that queues work,
// so a clock around a layer measures nothing without a wait. But waiting stops the host from running ahead,
// which costs time at every layer. An empty step shows how much.
struct LayerWaits {
  std::vector<WaitedLayer> layers;
  Sampled whole_s;   // one wait, at the end; one launch of all steps if the device can
  Sampled queued_s;  // the same, but launched step by step
  Sampled sum_s;     // sum of all layers of a pass, with a wait after each
  Sampled empty_s;   // an empty step with a wait
  Sampled in_row_s;  // an empty step among others, without a wait

  double waits() const { return static_cast<double>(layers.size()); }
  double wait_s() const;     // time a wait adds to a layer
  double medians_s() const;  // sum of the layers' medians: below a pass if others disturb each one
  double corrected_s() const { return sum_s.median - waits() * wait_s(); }
  double remaining_s() const { return corrected_s() - whole_s.median; }
};

// Uses the images and labels of one batch on the engine's device. The kinds of pass take turns, so that a
// slow phase of the machine affects all of them.
LayerWaits time_layers(Engine& engine, std::int64_t batch, const void* images, const std::int32_t* labels,
                       int samples);

}  // namespace headroom
