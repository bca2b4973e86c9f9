#pragma once

#include "train/evaluate.h"
#include "train/inference.h"

namespace headroom {

// The last pass again, on the same arrays: a few times with every step timed, then as a whole.
Measurement measure_again(Device& device, Inference& inference);

// One pass over images of a network that need not be a classifier, with every step of a whole batch timed.
// `ready` is its forward pass for that batch. Nothing is known of accuracy or loss.
EvalResult forward_over(Engine& engine, Engine::Ready& ready, const Split& split,
                        const Preprocess& preprocess);

}  // namespace headroom
