# The CPU kernels, compiled once for each level of processors: the program takes the highest that it finds
# (src/device/cpu/levels.h). All other code is compiled for the lowest level.
#
# A level is one object file. Its inline functions and templates hold instructions that other processors lack, so the
# linker must not merge them with those of the same name elsewhere: all names of a level but one are made local.
if(HEADROOM_NATIVE)
  set(levels native)
elseif(NOT x86)
  set(levels any)  # Armv8.0 has NEON; kernels with later instructions are chosen one by one
else()
  set(HEADROOM_LEVELS here CACHE STRING "Levels of CPU kernels beside v2: here (of this machine), all, or a list of v3 and v4")
  set(levels ${HEADROOM_LEVELS})
  if(levels STREQUAL "all")
    set(levels v3 v4)
  elseif(levels STREQUAL "here")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE macros)
    set(levels "")
    if(macros MATCHES "__AVX512BW__" AND macros MATCHES "__AVX512CD__" AND macros MATCHES "__AVX512DQ__" AND
       macros MATCHES "__AVX512VL__")
      set(levels v4)
    elseif(macros MATCHES "__AVX2__" AND macros MATCHES "__FMA__" AND macros MATCHES "__BMI2__")
      set(levels v3)
    endif()
  endif()
  set(unknown ${levels})
  list(REMOVE_ITEM unknown v3 v4)
  if(unknown)
    message(FATAL_ERROR "HEADROOM_LEVELS has '${unknown}': it is 'all', 'here', or a list of v3 and v4")
  endif()
  list(SORT levels)
  list(PREPEND levels v2)
endif()

# headroom_level(NAME SOURCE...): adds the objects of one level to HEADROOM_LEVEL_OBJECTS.
function(headroom_level name)
  set(target headroom_level_${name})
  add_library(${target} OBJECT ${ARGN})
  target_include_directories(${target} PRIVATE include src)
  target_link_libraries(${target} PRIVATE headroom_options headroom_dependencies)
  target_compile_definitions(${target} PRIVATE HEADROOM_LEVEL_NAME=${name})
  headroom_quick_build(${target} <ops/operator.h> <plan/plan.h>)
  headroom_compile_together(${target})
  if(name MATCHES "^v[34]$")
    set_target_properties(${target} PROPERTIES HEADROOM_MARCH x86-64-${name})
    target_compile_options(${target} PRIVATE -march=x86-64-${name} -fno-gnu-unique)
    set(object ${PROJECT_BINARY_DIR}/level_${name}.o)
    string(LENGTH ${name} length)
    set(parts $<FILTER:$<TARGET_OBJECTS:${target}>,INCLUDE,[.]o$>)  # CMake counts the precompiled header, too
    add_custom_command(OUTPUT ${object} DEPENDS ${target} $<TARGET_OBJECTS:${target}> COMMAND_EXPAND_LISTS VERBATIM
      COMMENT "Joining the CPU kernels of level ${name}"
      COMMAND ${CMAKE_LINKER} -r --force-group-allocation -o ${object} ${parts}
      COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=_ZN8headroom15level_operators${length}${name}Ev ${object})
    set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
    set(objects ${object})
  else()
    set(objects $<TARGET_OBJECTS:${target}>)
  endif()
  set(HEADROOM_LEVEL_OBJECTS ${HEADROOM_LEVEL_OBJECTS} ${objects} PARENT_SCOPE)
endfunction()

# Kernels and their lists. Those that compute what others are compared with are built once, and so are the tiles, which
# bring their own instructions.
set(level_sources ${hot_sources} ${sources})
list(FILTER level_sources INCLUDE REGEX "/src/ops/")
list(FILTER level_sources EXCLUDE REGEX
  "/src/ops/(axes|broadcast|expect|kernel|operators|window|work)\\.cc$|/src/ops/(.*/)?(schema|cases|[a-z_]*reference|(cuda|cudnn|product)/.*|cuda(_[^/]*)?)\\.cc$|/src/ops/cpu/(bf16_tile|blas|gemm_tile|int8_tile)\\.cc$")
list(REMOVE_ITEM hot_sources ${level_sources})
list(REMOVE_ITEM sources ${level_sources})
set(level_names "")
set(HEADROOM_LEVEL_OBJECTS "")
foreach(name ${levels})
  string(APPEND level_names "HEADROOM_LEVEL(${name}) ")
  headroom_level(${name} ${level_sources})
endforeach()
set_source_files_properties(src/device/cpu/levels.cc src/ops/operators.cc PROPERTIES
  COMPILE_DEFINITIONS "HEADROOM_BUILT_LEVELS=${level_names}" SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
# GCC 12 mixes up the functions of arm_sve.h when it reads them behind a precompiled header.
set_source_files_properties(src/ops/cpu/gemm_tile.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
# Tiles fill the registers. GCC for Arm, not the one for x86-64, orders instructions before it hands out registers: it
# would move loads up, and sums out to memory. Clang has no such option.
set_source_files_properties(src/ops/cpu/bf16_tile.cc src/ops/cpu/gemm_tile.cc src/ops/cpu/int8_tile.cc PROPERTIES
  COMPILE_OPTIONS "-fno-schedule-insns;-Wno-ignored-optimization-argument")
