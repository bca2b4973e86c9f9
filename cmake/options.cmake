# Flags every target of the project shares, as one interface library.
add_library(headroom_options INTERFACE)
target_compile_options(headroom_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Werror
  # Designated initialisers leave defaults out on purpose.
  -Wno-missing-field-initializers
  # GNU vector types change their calling convention with the target; nothing here passes them across a library.
  -Wno-psabi)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  # Raised inside the compiler's own std::string, never by our code (its bug 105329 and relatives).
  target_compile_options(headroom_options INTERFACE
    -Wno-restrict -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")  # collecting its garbage takes the compiler a twentieth of the build
  target_compile_options(headroom_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
# What finds out whether the program can run here must itself run everywhere.
set(any_processor -mcpu=generic)
set(processor -mcpu=native)
if(x86)
  set(any_processor -march=x86-64)
  set(processor -march=native)
endif()
if(NOT HEADROOM_NATIVE)
  set(processor ${any_processor})
  if(x86)
    set(processor -march=x86-64-v2)  # the lowest level, see cmake/levels.cmake
  endif()
endif()
# Levels of CPU kernels name their own: of two such options, the last one counts.
target_compile_options(headroom_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:HEADROOM_MARCH>>>:${processor}>)
set_source_files_properties(src/device/cpu/processor_extensions.cc src/cli/processor_guard.cc PROPERTIES
  COMPILE_OPTIONS ${any_processor} SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
if(HEADROOM_SANITIZE)
  target_compile_options(headroom_options INTERFACE -fsanitize=${HEADROOM_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(headroom_options INTERFACE -fsanitize=${HEADROOM_SANITIZE})
endif()
find_program(HEADROOM_CCACHE ccache)
if(HEADROOM_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/cached ${HEADROOM_CCACHE})
  target_compile_options(headroom_options INTERFACE -fpch-preprocess)
endif()

# headroom_quick_build(TARGET HEADER...): the large headers are read once per target instead of once per file. Only those
# that most files include: the templates they use are instantiated in every file again (0.6 s for nlohmann/json.hpp).
function(headroom_quick_build target)
  target_precompile_headers(${target} PRIVATE <fmt/format.h> <functional> <map> <string> <vector> ${ARGN})
endfunction()

# headroom_compile_together(TARGET...): the compiler reads several files of one folder as one, so that it reads their
# headers and instantiates their templates once. Names in unnamed namespaces must then differ within a folder. Left out are
# the loops that measure the machine, and two readers of data whose classes have members of types in unnamed namespaces.
# Operators count as one folder: each file puts its unnamed namespace into a named one, because all kernels have an
# accepts() and a work(). GPU kernels do not, tiles are long enough alone, and two operators have a Reduction.
option(HEADROOM_TOGETHER "Compile several files of a folder at once: a quicker build, slower changes" ON)
set(HEADROOM_FILES_TOGETHER 8 CACHE STRING "How many files of a folder are compiled at once: more for builds from scratch")
function(headroom_compile_together)
  if(NOT HEADROOM_TOGETHER)
    return()
  endif()
  foreach(target ${ARGN})
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/(src|tests)/.*\\.cc$")
    set(operator_tests ${files})
    list(FILTER operator_tests INCLUDE REGEX "/src/ops/.*_test\\.cc$")
    set(operators ${files})
    list(FILTER operators INCLUDE REGEX "/src/ops/")
    list(FILTER operators EXCLUDE REGEX
      "_test\\.cc$|/(cuda|cudnn|product|scatter)/|/ops/(operators|registry|reduce/reference|cpu/[^/]*_tile)\\.cc$")
    list(FILTER files EXCLUDE REGEX "/src/ops/|/cuda[/_]")
    list(FILTER files EXCLUDE REGEX "/(machine/(bandwidth|fma_rate|vector_loops|pinned_team)|data/(image|loader))\\.cc$")
    foreach(file ${files} ${operators} ${operator_tests})
      get_filename_component(folder ${file} DIRECTORY)
      file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
      set(together ${HEADROOM_FILES_TOGETHER})
      if(folder MATCHES "^src/ops" AND NOT file MATCHES "_test\\.cc$")
        math(EXPR together "(${together} + 1) / 2")  # their kernels take long to compile
      endif()
      string(REGEX REPLACE "^src/ops/.*" "src/ops" folder ${folder})
      string(REGEX REPLACE "^(headroom_level)_[^_]+" "\\1" folder ${target}_${folder})  # levels have the same files
      string(MAKE_C_IDENTIFIER ${folder} folder)
      math(EXPR number "0${count_${target}_${folder}} / ${together}")
      math(EXPR count_${target}_${folder} "0${count_${target}_${folder}} + 1")
      set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${folder}_${number})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endforeach()
endfunction()

# headroom_prefer_optimised(TARGET): of templates that several files instantiate, those of the standard library among them,
# the linker keeps the first copy. The command line and the tests are not optimised, so the library comes before them.
# predict resnet:depth=50 --machine all took 1.5 times as long with the copies of the command line.
function(headroom_prefer_optimised target)
  if(NOT APPLE)
    target_link_options(${target} PRIVATE
      "SHELL:-Wl,--whole-archive $<TARGET_FILE:headroom_library> -Wl,--no-whole-archive")
  endif()
endfunction()
