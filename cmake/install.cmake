# `make install`, and find_package(headroom) for other projects.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Whoever links the static library must link what it uses; of each dependency the link line alone is passed on, since
# no public header includes any of them.
set(headers_only nlohmann_json::nlohmann_json CLI11::CLI11)
set(HEADROOM_PACKAGES "")
get_target_property(links headroom_dependencies INTERFACE_LINK_LIBRARIES)
foreach(link ${links})
  if(link IN_LIST headers_only)
    continue()
  endif()
  target_link_libraries(headroom_library INTERFACE $<INSTALL_INTERFACE:$<LINK_ONLY:${link}>>)
  if(link MATCHES "^(.+)::")
    list(APPEND HEADROOM_PACKAGES ${CMAKE_MATCH_1})  # these targets are named for the package they come from
  endif()
endforeach()
list(TRANSFORM HEADROOM_PACKAGES REPLACE "^protobuf$" "Protobuf")  # but for this one
list(REMOVE_DUPLICATES HEADROOM_PACKAGES)

# The run path keeps the OpenMP build of OpenBLAS, where the linker found it; the system may prefer another build.
set_target_properties(headroom PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/headroom)
install(TARGETS headroom)
if(TARGET headroom_inject)
  install(TARGETS headroom_inject LIBRARY DESTINATION lib/headroom)
  install(FILES src/inject/python/sitecustomize.py DESTINATION lib/headroom/python)
endif()
install(TARGETS headroom_library EXPORT headroomTargets)
install(DIRECTORY include/headroom DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT headroomTargets NAMESPACE headroom:: DESTINATION ${package_folder})

configure_package_config_file(cmake/headroomConfig.cmake.in headroomConfig.cmake INSTALL_DESTINATION ${package_folder}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(headroomConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/headroomConfig.cmake ${PROJECT_BINARY_DIR}/headroomConfigVersion.cmake
        DESTINATION ${package_folder})
