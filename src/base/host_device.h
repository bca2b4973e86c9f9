#pragma once

// Marks functions that C++ and device code share: small arithmetic that must not be written twice.

#ifdef __CUDACC__
#define HEADROOM_HOST_DEVICE __host__ __device__
#else
#define HEADROOM_HOST_DEVICE
#endif
