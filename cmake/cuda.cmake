# The device half of kernels: *.cu, and the plain C++ beside them that needs the toolkit (cuda.cc, cudnn*.cc, everything
# under a folder cuda/). AUTO takes the toolkit where it is; without one all of it is left out, and kernels for GPUs can
# still be planned and predicted.
set(HEADROOM_CUDA AUTO CACHE STRING "Build for NVIDIA GPUs: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE HEADROOM_CUDA PROPERTY STRINGS AUTO ON OFF)

set(HEADROOM_HAS_CUDA OFF)
if(HEADROOM_CUDA)
  include(CheckLanguage)
  find_program(nvcc nvcc HINTS /usr/local/cuda/bin)
  if(nvcc AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    set(CMAKE_CUDA_COMPILER ${nvcc})
  endif()
  # For the card that is here; else for Hopper, with code that newer drivers can translate for later cards.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    if(EXISTS /dev/nvidia0 AND CMAKE_VERSION VERSION_GREATER_EQUAL 3.24)
      set(CMAKE_CUDA_ARCHITECTURES native)
    else()
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    find_package(CUDAToolkit REQUIRED)
    set(HEADROOM_HAS_CUDA ON)
  elseif(HEADROOM_CUDA STREQUAL "ON")
    message(FATAL_ERROR "HEADROOM_CUDA is ON, but there is no nvcc: install the CUDA toolkit or set CUDACXX")
  else()
    message(STATUS "No nvcc here: building for CPUs only")
  endif()
endif()

if(HEADROOM_HAS_CUDA)
  if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # older CMake does not know how to ask a newer nvcc
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
  endif()
  set(CMAKE_CUDA_STANDARD 20)
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # linked by name below, so that C++ alone links what we install
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS src/*.cu)
  add_library(headroom_cuda OBJECT ${cuda_sources})
  target_include_directories(headroom_cuda PRIVATE src)
  target_compile_options(headroom_cuda PRIVATE --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Werror
                         --Werror=all-warnings)
  if(HEADROOM_CCACHE)
    set_target_properties(headroom_cuda PROPERTIES CUDA_COMPILER_LAUNCHER ${HEADROOM_CCACHE})
  endif()
  # The static runtime looks for the driver when it is first called: the program starts on machines without one.
  target_link_libraries(headroom_dependencies INTERFACE ${CUDA_cudart_static_LIBRARY} rt ${CMAKE_DL_LIBS})
  target_include_directories(headroom_dependencies SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  target_compile_definitions(headroom_dependencies INTERFACE HEADROOM_HAS_CUDA)
  # `headroom doctor` tells which cards this build is for; "native" is CMake's word for the one that is here.
  set(architectures ${CMAKE_CUDA_ARCHITECTURES})
  if(architectures STREQUAL "native" AND CMAKE_CUDA_ARCHITECTURES_NATIVE)
    set(architectures ${CMAKE_CUDA_ARCHITECTURES_NATIVE})
  endif()
  string(REPLACE ";" " " architectures "${architectures}")
  set_source_files_properties(src/cli/doctor.cc PROPERTIES
    COMPILE_DEFINITIONS "HEADROOM_CUDA_ARCHITECTURES=\"${architectures}\"" SKIP_PRECOMPILE_HEADERS ON)
  find_path(HEADROOM_CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS} /usr/include
            /usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
  if(HEADROOM_CUDNN_INCLUDE)
    target_compile_definitions(headroom_dependencies INTERFACE HEADROOM_HAS_CUDNN)
  else()
    message(STATUS "No cudnn.h here: convolutions on the GPU run by our own kernels alone")
  endif()
endif()
