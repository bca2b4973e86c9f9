#pragma once

#include "base/testing/bad_input.h"  // temporary folders and expect_rejected, shared by all tests
