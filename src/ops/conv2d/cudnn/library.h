#pragma once

// NVIDIA's convolutions, loaded on first use: the program is built without linking them and runs without
// them.

#ifdef HEADROOM_HAS_CUDNN

#include <cudnn.h>

#include "base/dtype.h"

// The plain calls are marked as old; they are in every version since 8.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace headroom {

// Every call that is used, by its name without the library's.
#define HEADROOM_CUDNN_CALLS(call)                                                                         \
  call(Create) call(SetStream) call(GetErrorString) call(CreateTensorDescriptor)                           \
      call(DestroyTensorDescriptor) call(SetTensor4dDescriptor) call(CreateFilterDescriptor)               \
          call(DestroyFilterDescriptor) call(SetFilter4dDescriptor) call(CreateConvolutionDescriptor)      \
              call(DestroyConvolutionDescriptor) call(SetConvolution2dDescriptor)                          \
                  call(SetConvolutionMathType) call(SetConvolutionGroupCount)                              \
                      call(CreateActivationDescriptor) call(DestroyActivationDescriptor)                   \
                          call(SetActivationDescriptor) call(GetConvolutionForwardAlgorithm_v7)            \
                              call(GetConvolutionBackwardDataAlgorithm_v7)                                 \
                                  call(GetConvolutionBackwardFilterAlgorithm_v7) call(ConvolutionForward)  \
                                      call(ConvolutionBiasActivationForward) call(ConvolutionBackwardData) \
                                          call(ConvolutionBackwardFilter) call(BackendCreateDescriptor)    \
                                              call(BackendDestroyDescriptor) call(BackendFinalize)         \
                                                  call(BackendSetAttribute) call(BackendGetAttribute)      \
                                                      call(BackendExecute)

struct Cudnn {
#define HEADROOM_CUDNN_CALL(name) decltype(::cudnn##name)* name = nullptr;
  HEADROOM_CUDNN_CALLS(HEADROOM_CUDNN_CALL)
#undef HEADROOM_CUDNN_CALL
};

// Throws, saying what is missing and what to try, where the library cannot be loaded.
const Cudnn& cudnn();
// The handle of the current device, made on first use and kept for the life of the process.
cudnnHandle_t cudnn_handle();

void check_cudnn(cudnnStatus_t status, const char* call);

cudnnDataType_t cudnn_type(DType dtype);

}  // namespace headroom

#pragma GCC diagnostic pop

#define HEADROOM_CUDNN_CHECK(call) ::headroom::check_cudnn((call), #call)
#endif
