#pragma once

#include <string>
#include <vector>

#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

// A layer timed by itself: from when the device had nothing to do to when the layer was waited for.
struct WaitedLayer {
  std::string layer, operators;
  Spread seconds;
};

// A forward pass as a whole against the sum of its layers. The host runs ahead of a device that queues work,
// so that a clock around a layer sees nothing unless the layer is waited for; and waiting keeps the host from
// running ahead, which costs time of its own at every layer. An empty step tells how much.
struct LayerWaits {
  std::vector<WaitedLayer> layers;
  Sampled whole_s;   // one wait, at the end; one launch of all steps where the device can
  Sampled queued_s;  // the same, but launched step by step
  Sampled sum_s;     // of all layers of a pass, each waited for
  Sampled empty_s;   // a step that does nothing, waited for
  Sampled in_row_s;  // the same among others of its kind, not waited for

  double waits() const { return static_cast<double>(layers.size()); }
  double wait_s() const;     // what a wait adds to a layer
  double medians_s() const;  // the layers' medians, added up: less than a pass where others disturb each one
  double corrected_s() const { return sum_s.median - waits() * wait_s(); }
  double remaining_s() const { return corrected_s() - whole_s.median; }
};

// By images and labels of one batch that lie on the engine's device. The kinds of pass take turns, so that a
// slow spell of the machine falls on all of them.
LayerWaits time_layers(Engine& engine, std::int64_t batch, const void* images, const std::int32_t* labels,
                       int samples);

}  // namespace headroom
