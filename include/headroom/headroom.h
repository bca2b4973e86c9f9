#pragma once

// Includes the whole API. docs/api.md is the tour.

#include "headroom/data.h"
#include "headroom/error.h"
#include "headroom/model.h"
#include "headroom/net.h"
#include "headroom/predict.h"
#include "headroom/profile.h"
#include "headroom/timer.h"
#include "headroom/version.h"
