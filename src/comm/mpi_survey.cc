#include "comm/mpi_library.h"
#include "comm/world.h"

namespace headroom {

#ifdef HEADROOM_HAS_MPI

MpiSurvey survey_mpi() {
  try {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    mpi().check(mpi().Get_library_version(words, &length), "MPI_Get_library_version");
    // "Open MPI v4.1.4, package: …, ident: 4.1.4, …"
    const std::string_view all(words, static_cast<std::size_t>(length));
    return {.version = std::string(all.substr(0, all.find(','))), .why_not = {}, .try_this = {}};
  } catch (const Error& error) {
    return {.version = {}, .why_not = error.what(), .try_this = error.hint()};
  }
}

#else

MpiSurvey survey_mpi() {
  return {.version = {},
          .why_not = "this program was built without MPI",
          .try_this = "install openmpi-bin and libopenmpi-dev, and build again"};
}

#endif

}  // namespace headroom
