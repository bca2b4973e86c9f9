# Why each is here: docs/dependencies.md.
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)

# The OpenMP build of OpenBLAS shares our thread team; the pthread build would fight it for the cores.
find_library(OPENBLAS_LIBRARY openblas PATH_SUFFIXES openblas-openmp
             PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
find_library(OPENBLAS_LIBRARY openblas REQUIRED)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas-openmp openblas
          PATHS /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} NO_DEFAULT_PATH)
find_path(OPENBLAS_INCLUDE cblas.h PATH_SUFFIXES openblas REQUIRED)

add_library(headroom_dependencies INTERFACE)
target_include_directories(headroom_dependencies SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(headroom_dependencies INTERFACE
  ${OPENBLAS_LIBRARY} OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 ZLIB::ZLIB Threads::Threads
  protobuf::libprotobuf-lite)

# Without these the program works, but for what needs them, and says so when asked.
foreach(optional "PNG PNG::PNG png" "JPEG JPEG::JPEG jpeg")
  separate_arguments(optional)
  list(GET optional 0 package)
  list(GET optional 1 target)
  list(GET optional 2 file)
  find_package(${package} QUIET)
  if(${package}_FOUND)
    target_link_libraries(headroom_dependencies INTERFACE ${target})
    set_source_files_properties(src/data/${file}.cc PROPERTIES
      COMPILE_DEFINITIONS HEADROOM_HAS_${package} SKIP_PRECOMPILE_HEADERS ON)
  else()
    message(STATUS "No ${package} here: see docs/dependencies.md for what is left out")
  endif()
endforeach()

# Of libcurl the header alone: the library brings two dozen others, and is loaded where something is fetched.
find_package(CURL QUIET)
if(CURL_FOUND)
  set_source_files_properties(src/data/download.cc src/data/curl_library.cc PROPERTIES
    COMPILE_DEFINITIONS HEADROOM_HAS_CURL INCLUDE_DIRECTORIES "${CURL_INCLUDE_DIRS}" SKIP_PRECOMPILE_HEADERS ON)
else()
  message(STATUS "No CURL here: see docs/dependencies.md for what is left out")
endif()

# For the live page of a training and for the tests of pages. The library does not use it: only these files see its flags.
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HTTPLIB QUIET cpp-httplib)
endif()
set(HEADROOM_HTTPLIB "")  # what the program and the tests link
if(HTTPLIB_FOUND)
  set(HEADROOM_HTTPLIB ${HTTPLIB_LINK_LIBRARIES})
  set_source_files_properties(src/cli/live_server.cc src/cli/live_server_test.cc tests/browser/driver.cc PROPERTIES
    COMPILE_DEFINITIONS HEADROOM_HAS_HTTPLIB COMPILE_OPTIONS "${HTTPLIB_CFLAGS}" SKIP_PRECOMPILE_HEADERS ON)
else()
  message(STATUS "No cpp-httplib here: see docs/dependencies.md for what is left out")
endif()

# Of Open MPI the header alone: the library is loaded where mpirun has started several of us. The handles of other MPIs
# are made differently; their headers are left alone.
find_package(MPI QUIET COMPONENTS C)
set(HEADROOM_HAS_MPI OFF)
if(MPI_C_FOUND AND EXISTS "${MPI_C_HEADER_DIR}/mpi.h")
  file(STRINGS "${MPI_C_HEADER_DIR}/mpi.h" HEADROOM_HAS_MPI REGEX "define OPEN_MPI 1")
endif()
if(HEADROOM_HAS_MPI)
  file(GLOB mpi_sources ${PROJECT_SOURCE_DIR}/src/comm/mpi_*.cc)
  set_source_files_properties(${mpi_sources} ${PROJECT_SOURCE_DIR}/src/comm/world.cc PROPERTIES
    COMPILE_DEFINITIONS HEADROOM_HAS_MPI COMPILE_OPTIONS "-isystem;${MPI_C_HEADER_DIR}" SKIP_PRECOMPILE_HEADERS ON)
else()
  message(STATUS "No Open MPI here: building for one process at a time")
endif()
