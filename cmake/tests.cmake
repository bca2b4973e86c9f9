find_package(GTest REQUIRED)
include(GoogleTest)

file(GLOB spanning_tests CONFIGURE_DEPENDS tests/*.cc)
add_executable(headroom_tests ${test_sources} ${spanning_tests})
target_include_directories(headroom_tests PRIVATE src)
target_link_libraries(headroom_tests PRIVATE headroom_library headroom_options headroom_dependencies GTest::gtest_main)
target_compile_definitions(headroom_tests PRIVATE
  HEADROOM_PROGRAM="$<TARGET_FILE:headroom>" HEADROOM_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
add_dependencies(headroom_tests headroom)
gtest_discover_tests(headroom_tests DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
