include(GoogleTest)

file(GLOB spanning_tests CONFIGURE_DEPENDS tests/*.cc tests/browser/*.cc)
# The parts of the command line that have unit tests.
set(tested_cli_sources src/cli/live_events.cc src/cli/live_page.cc src/cli/live_server.cc)
# Tests run for moments and are compiled without optimisation. What computes their expected values is not.
set(computing_test_sources ${test_sources})
list(FILTER computing_test_sources INCLUDE REGEX "/testing/")
list(FILTER computing_test_sources EXCLUDE REGEX "_test\\.cc$")
list(REMOVE_ITEM test_sources ${computing_test_sources})
add_library(headroom_testing OBJECT EXCLUDE_FROM_ALL ${computing_test_sources})
target_include_directories(headroom_testing PRIVATE src include)
target_link_libraries(headroom_testing PRIVATE headroom_options headroom_dependencies)
target_compile_options(headroom_testing PRIVATE -O1)
target_precompile_headers(headroom_testing REUSE_FROM headroom_cool)
add_executable(headroom_tests ${test_sources} ${spanning_tests} ${tested_cli_sources} $<TARGET_OBJECTS:headroom_testing>)
if(HEADROOM_HAS_CUDA)
  target_sources(headroom_tests PRIVATE $<TARGET_OBJECTS:headroom_cuda_tests>)
endif()
target_include_directories(headroom_tests PRIVATE src)
target_link_libraries(headroom_tests PRIVATE headroom_library headroom_options headroom_dependencies ${HEADROOM_HTTPLIB}
                      GTest::gtest_main)
target_compile_definitions(headroom_tests PRIVATE
  HEADROOM_PROGRAM="$<TARGET_FILE:headroom>" HEADROOM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
target_compile_options(headroom_tests PRIVATE -O0)
headroom_prefer_optimised(headroom_tests)
headroom_quick_build(headroom_tests <gtest/gtest.h> <train/engine.h>)
headroom_compile_together(headroom_tests)
add_dependencies(headroom_tests headroom)
if(TARGET headroom_inject)
  add_executable(headroom_nvtx_program tests/programs/nvtx_program.cc)
  target_include_directories(headroom_nvtx_program SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  target_link_libraries(headroom_nvtx_program PRIVATE headroom_options ${CMAKE_DL_LIBS})
  add_dependencies(headroom_tests headroom_nvtx_program)
  if(EXISTS ${HEADROOM_CUPTI_INCLUDE}/cupti_range_profiler.h)
    # A driver and a CUPTI that the library can count with on machines without a GPU.
    string(REGEX MATCH "[0-9]+" cuda_major "${CUDAToolkit_VERSION}")
    add_library(headroom_fake_cuda SHARED tests/programs/fake_cuda.cc)
    add_library(headroom_fake_cupti SHARED tests/programs/fake_cupti.cc tests/programs/fake_cupti_rest.cc)
    set_target_properties(headroom_fake_cuda PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1)
    set_target_properties(headroom_fake_cupti PROPERTIES OUTPUT_NAME cupti SUFFIX .so.${cuda_major})
    target_include_directories(headroom_fake_cupti SYSTEM PRIVATE ${HEADROOM_CUPTI_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    add_executable(headroom_counted_program tests/programs/counted_program.cc)
    target_include_directories(headroom_counted_program SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
    foreach(target headroom_fake_cuda headroom_fake_cupti headroom_counted_program)
      target_link_libraries(${target} PRIVATE headroom_options ${CMAKE_DL_LIBS})
      add_dependencies(headroom_tests ${target})
    endforeach()
    target_compile_definitions(headroom_counted_program PRIVATE FAKE_CUPTI="libcupti.so.${cuda_major}")
    set_target_properties(headroom_fake_cuda headroom_fake_cupti PROPERTIES
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fake_cuda)
  endif()
endif()
if(NOT HEADROOM_SANITIZE)
  # Suites of many short tests: the start of a process takes longer than most of them, so several tests share one.
  set(shared_processes)
  function(run_together name filter processes)
    set(shared_processes ${shared_processes} ${filter} PARENT_SCOPE)
    math(EXPR last "${processes} - 1")
    foreach(index RANGE ${last})
      add_test(NAME ${name}/${index} COMMAND headroom_tests --gtest_filter=${filter})
      set_tests_properties(${name}/${index} PROPERTIES TIMEOUT 600 ENVIRONMENT
        "GTEST_TOTAL_SHARDS=${processes};GTEST_SHARD_INDEX=${index};OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
    endforeach()
  endfunction()
  run_together(CliBadInputs *CliBadInputs.* 8)
  run_together(KernelsNaN *Kernels.ANaNReachesWhatDependsOnIt* 4)
  # Kernels of one operator stay together: what they should give is computed once.
  foreach(letters "a b" "c" "d e f g" "h i j k l m" "n o p q r s t u v w x y z")
    string(REPLACE " " "" group ${letters})
    string(REPLACE " " "*:All/Kernels.AgreeWithTheReference/" filter ${letters})
    run_together(Kernels_${group} All/Kernels.AgreeWithTheReference/${filter}* 1)
  endforeach()
  run_together(Gradients *Gradients.* 4)
  run_together(OnnxOperators *OnnxOperators.* 4)
  run_together(SmallNetwork *SmallNetwork.* 4)
  # These share what takes long: a measured machine; a browser, and the training whose page it shows.
  run_together(Roofline Roofline.* 1)
  run_together(BrowserPages BrowserReport.*:BrowserPageChecks.*:BrowserInstrument.* 1)
  run_together(BrowserLive BrowserLive.* 1)
  run_together(CudaKernels *CudaKernels.* 1)
  set_tests_properties(CudaKernels/0 PROPERTIES LABELS cuda RUN_SERIAL ON TIMEOUT 3600 ENVIRONMENT ""
                       SKIP_REGULAR_EXPRESSION "no GPU here")

  list(JOIN shared_processes ":" shared_processes)
  # Tests that start programs or servers, train, measure, or use the GPU have a process each. All others share some.
  set(own_processes *Cli*:*Completion*:*Ranks*:TwoHosts*:Browser*:Live*:Scripts/*:Folders/*:*Examples*:*Bench*:Ladder*)
  string(APPEND own_processes :Roofline*:EnergyMeter*:MachineSampler*:Published*:Statistics*:*Physics*:Public*:BlockMma*)
  string(APPEND own_processes :*Accuracy*:*Timing*:*Cuda*:InRanks*:LateRank*:TestGroups*:TestLimits*:Sources*:Docs*)
  foreach(index RANGE 5)
    add_test(NAME Units/${index} COMMAND headroom_tests --gtest_filter=-${own_processes}:${shared_processes})
    set_tests_properties(Units/${index} PROPERTIES TIMEOUT 600 ENVIRONMENT
      "GTEST_TOTAL_SHARDS=6;GTEST_SHARD_INDEX=${index};OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
  endforeach()

  # Values are not part of the names: they hold addresses, which change from run to run.
  gtest_discover_tests(headroom_tests NO_PRETTY_VALUES DISCOVERY_TIMEOUT 60 TEST_LIST headroom_discovered
                       TEST_FILTER "${own_processes}-${shared_processes}" PROPERTIES TIMEOUT 600)
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_SOURCE_DIR}/cmake/test_properties.cmake)
else()
  # All in one process: the search for leaks at its end alone can take seconds. libgomp is not built for the thread
  # sanitizer, which would report every parallel region: there one thread, and std::thread is what remains checked.
  add_test(NAME sanitized COMMAND headroom_tests --gtest_brief=1
           --gtest_filter=-Accuracy*:*/Accuracy*:Timing*:*/Timing*)
  set_tests_properties(sanitized PROPERTIES TIMEOUT 7200)
  if(HEADROOM_SANITIZE MATCHES "thread")
    set_tests_properties(sanitized PROPERTIES ENVIRONMENT OMP_NUM_THREADS=1)
  endif()
endif()

# Every public header compiles on its own, and with nothing but the public folder to include from.
file(GLOB headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS include/headroom/*.h)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} stem)
  file(CONFIGURE OUTPUT headers/${stem}.cc CONTENT "#include \"${header}\"\n#include \"${header}\"\n" @ONLY)
  list(APPEND header_sources ${PROJECT_BINARY_DIR}/headers/${stem}.cc)
endforeach()
add_library(headroom_headers OBJECT ${header_sources})
target_include_directories(headroom_headers PRIVATE include)
target_link_libraries(headroom_headers PRIVATE headroom_options)

add_test(NAME setup_script COMMAND ${PROJECT_SOURCE_DIR}/tests/setup_test.sh)
if(NOT HEADROOM_SANITIZE)  # the outside project is built without sanitizers and could not link
  add_test(NAME package COMMAND ${CMAKE_COMMAND} -DBUILD=${PROJECT_BINARY_DIR} -DCOMPILER=${CMAKE_CXX_COMPILER}
           "-DGENERATOR=${CMAKE_GENERATOR}" -P ${PROJECT_SOURCE_DIR}/tests/package/check.cmake)
endif()
