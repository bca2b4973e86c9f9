# version.cc: what was built. The commit is read when configuring; a moved HEAD configures again, so that an unchanged
# checkout rebuilds nothing.
set(HEADROOM_COMMIT unknown)
string(STRIP "${CMAKE_BUILD_TYPE} ${HEADROOM_SANITIZE}" HEADROOM_BUILD_TYPE)

function(headroom_git variable)
  execute_process(COMMAND git ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                  OUTPUT_VARIABLE output ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    set(output "")
  endif()
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# Sources unpacked inside somebody else's repository do not belong to its commit.
headroom_git(toplevel rev-parse --show-toplevel)
file(REAL_PATH ${PROJECT_SOURCE_DIR} source_folder)
if(toplevel STREQUAL source_folder)
  headroom_git(hash rev-parse --short HEAD)
  if(hash)
    set(HEADROOM_COMMIT ${hash})
  endif()
  # HEAD changes on checkout; its branch and its log on every commit, reset and rebase. A packed branch has no file of
  # its own until the next commit, which the log shows.
  headroom_git(branch symbolic-ref --quiet HEAD)
  foreach(name HEAD logs/HEAD ${branch})
    headroom_git(path rev-parse --git-path ${name})
    get_filename_component(path "${path}" ABSOLUTE BASE_DIR ${PROJECT_SOURCE_DIR})
    if(EXISTS ${path} AND NOT IS_DIRECTORY ${path})
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
    endif()
  endforeach()
endif()

set(HEADROOM_CUDA_VERSION none)
if(HEADROOM_HAS_CUDA)
  set(HEADROOM_CUDA_VERSION ${CUDAToolkit_VERSION_MAJOR}.${CUDAToolkit_VERSION_MINOR})
  if(HEADROOM_QUICK_CUDA)
    string(APPEND HEADROOM_CUDA_VERSION ", kernels not optimised")
  endif()
endif()
configure_file(src/base/version.cc.in version.cc @ONLY)
target_sources(headroom_library PRIVATE ${PROJECT_BINARY_DIR}/version.cc)
