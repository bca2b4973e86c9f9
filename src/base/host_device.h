#pragma once

// Marks functions shared by C++ and device code: small arithmetic that must exist only once.

#ifdef __CUDACC__
#define HEADROOM_HOST_DEVICE __host__ __device__
#else
#define HEADROOM_HOST_DEVICE
#endif
