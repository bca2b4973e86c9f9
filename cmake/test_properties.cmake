# Read by ctest, after the tests were discovered. Suites named Timing... run alone; suites named Accuracy... train for
# long, run alone, and only when asked for (make accuracy); suites named Cuda... use the GPU, one at a time. The others run
# side by side and keep to two threads each.
foreach(test IN LISTS headroom_discovered)
  if(test MATCHES "^(.*/)?Accuracy")
    set_tests_properties("${test}" PROPERTIES LABELS accuracy RUN_SERIAL ON TIMEOUT 7200)
  elseif(test MATCHES "^(.*/)?Timing")
    set_tests_properties("${test}" PROPERTIES LABELS timing RUN_SERIAL ON)
  elseif(test MATCHES "^(.*/)?Cuda")
    set_tests_properties("${test}" PROPERTIES LABELS cuda RUN_SERIAL ON)
  else()
    set_tests_properties("${test}" PROPERTIES ENVIRONMENT "OMP_NUM_THREADS=2;OMP_WAIT_POLICY=passive")
  endif()
endforeach()
