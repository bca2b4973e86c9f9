#pragma once

#include "headroom/version.h"  // the public header is all there is; version.cc comes from version.cc.in
