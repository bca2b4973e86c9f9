// The calls of CUDA's driver that counting needs, for a GPU that is not there.

extern "C" {

int cuCtxGetCurrent(void** context) {
  *context = reinterpret_cast<void*>(1);
  return 0;
}
int cuCtxSynchronize() { return 0; }
int cuCtxGetDevice(int* device) {
  *device = 0;
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  constexpr int kWarpSize = 10;
  *value = attribute == kWarpSize ? 32 : 2048;
  return 0;
}

}  // extern "C"
