# The device half of kernels: *.cu, and the plain C++ that needs the toolkit (see the list of sources in CMakeLists.txt).
# AUTO takes the toolkit where it is; without one all of it is left out, and kernels for GPUs can still be planned and
# predicted.
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
  set(CMAKE_CUDA_FLAGS_RELEASE "-O1 -DNDEBUG")  # of host code, which only starts kernels; theirs is always the highest
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)  # linked by name below, so that C++ alone links what we install
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS src/*.cu)
  set(cuda_test_sources ${cuda_sources})
  list(FILTER cuda_test_sources INCLUDE REGEX "/testing/")
  list(FILTER cuda_sources EXCLUDE REGEX "/testing/")
  # Warp-group instructions exist for compute capability 9.0 alone, under a name of its own. Files that use them, or the
  # barriers beside them (…_hopper.cu), are built for that whatever the rest is built for: on other cards, their kernels
  # refuse.
  set(hopper_sources ${cuda_sources})
  list(FILTER hopper_sources INCLUDE REGEX "_(wgmma|hopper)[^/]*\\.cu$")
  list(REMOVE_ITEM cuda_sources ${hopper_sources})
  # Most of the time for small operators (src/ops/X/cuda*.cu) goes into the toolkit's headers: nvcc reads eight files as
  # one. Names in their unnamed namespaces must differ. CMake does this by itself for C++, for CUDA not before 3.31.
  if(HEADROOM_TOGETHER)
    set(small_sources ${cuda_sources})
    list(FILTER small_sources INCLUDE REGEX "/src/ops/[^/]+/cuda[^/]*\\.cu$")
    list(FILTER small_sources EXCLUDE REGEX "/unary/")
    list(REMOVE_ITEM cuda_sources ${small_sources})
    set(count 0)
    foreach(file ${small_sources})
      math(EXPR group "${count} / 8")
      math(EXPR count "${count} + 1")
      string(APPEND text_${group} "#include \"${file}\"\n")
    endforeach()
    foreach(index RANGE ${group})
      file(CONFIGURE OUTPUT operators_${index}.cu CONTENT "${text_${index}}" @ONLY)
      list(APPEND cuda_sources ${PROJECT_BINARY_DIR}/operators_${index}.cu)
    endforeach()
  endif()
  add_library(headroom_cuda OBJECT ${cuda_sources})
  add_library(headroom_cuda_hopper OBJECT ${hopper_sources})
  set_target_properties(headroom_cuda_hopper PROPERTIES CUDA_ARCHITECTURES 90a-real)
  add_library(headroom_cuda_tests OBJECT EXCLUDE_FROM_ALL ${cuda_test_sources})
  foreach(target headroom_cuda headroom_cuda_hopper headroom_cuda_tests)
    target_include_directories(${target} PRIVATE src)
    target_compile_options(${target} PRIVATE --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Werror
                           --Werror=all-warnings)
    if(HEADROOM_CCACHE)
      set_target_properties(${target} PROPERTIES CUDA_COMPILER_LAUNCHER ${HEADROOM_CCACHE})
    endif()
  endforeach()
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
  find_path(HEADROOM_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS} /usr/include)
  if(HEADROOM_NCCL_INCLUDE)
    file(GLOB nccl_sources ${PROJECT_SOURCE_DIR}/src/comm/cuda_nccl*.cc)
    set_source_files_properties(${nccl_sources} PROPERTIES COMPILE_DEFINITIONS HEADROOM_HAS_NCCL
      COMPILE_OPTIONS "-isystem;${HEADROOM_NCCL_INCLUDE}" SKIP_PRECOMPILE_HEADERS ON)
  else()
    message(STATUS "No nccl.h here: GPUs of several ranks exchange through the host's memory")
  endif()
  find_path(HEADROOM_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS}
            ${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include)
  if(HEADROOM_CUPTI_INCLUDE)
    file(GLOB cupti_sources ${PROJECT_SOURCE_DIR}/src/profile/cuda/*.cc)
    set_source_files_properties(${cupti_sources} PROPERTIES COMPILE_DEFINITIONS HEADROOM_HAS_CUPTI
      COMPILE_OPTIONS "-isystem;${HEADROOM_CUPTI_INCLUDE}" SKIP_PRECOMPILE_HEADERS ON)
    # What `profile -- PROGRAM` loads into programs. It finds CUPTI when it is loaded, and links no library of ours.
    file(GLOB inject_sources CONFIGURE_DEPENDS src/inject/cuda/*.cc)
    add_library(headroom_inject SHARED ${inject_sources} src/inject/aggregator.cc src/inject/launch_counter.cc
      src/inject/live_ranges.cc src/profile/gpu_counters.cc src/profile/cuda/cupti_errors.cc
      src/profile/cuda/cupti_session.cc src/profile/cuda/cupti_ranges.cc src/profile/cuda/metric_host.cc
      src/device/cuda/library.cc src/base/text.cc src/base/units.cc)
    target_include_directories(headroom_inject PRIVATE src include)
    target_include_directories(headroom_inject SYSTEM PRIVATE ${HEADROOM_CUPTI_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    target_compile_definitions(headroom_inject PRIVATE HEADROOM_HAS_CUPTI)
    target_compile_options(headroom_inject PRIVATE -O2)
    target_link_libraries(headroom_inject PRIVATE headroom_options fmt::fmt-header-only ${CMAKE_DL_LIBS})
    target_link_options(headroom_inject PRIVATE -Wl,--no-undefined)
    set_target_properties(headroom_inject PROPERTIES CXX_VISIBILITY_PRESET hidden
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    configure_file(src/inject/python/sitecustomize.py ${PROJECT_BINARY_DIR}/python/sitecustomize.py COPYONLY)
  else()
    message(STATUS "No cupti.h here: profiles of GPUs have no kernel trace")
  endif()
endif()
