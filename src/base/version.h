#pragma once

#include "headroom/version.h"  // the public header is complete; version.cc comes from version.cc.in
