# Why each is here: docs/dependencies.md.
find_package(OpenMP REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)

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
  ${OPENBLAS_LIBRARY} OpenMP::OpenMP_CXX fmt::fmt nlohmann_json::nlohmann_json CLI11::CLI11 ZLIB::ZLIB Threads::Threads)
