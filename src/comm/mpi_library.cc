#include "comm/mpi_library.h"

#ifdef HEADROOM_HAS_MPI

#include <dlfcn.h>

#include "base/error.h"

namespace headroom {
namespace {

constexpr const char* kInstall =
    "install openmpi-bin and libopenmpi-dev, or start the program without mpirun";

void* open_library() {
  std::string why;
  // 40 is Open MPI 2 to 5. Its plug-ins look up its symbols, so load it globally.
  for (const char* name : {"libmpi.so.40", "libmpi.so"}) {
    if (void* handle = ::dlopen(name, RTLD_NOW | RTLD_GLOBAL)) return handle;
    if (why.empty()) why = ::dlerror();
  }
  throw Error(Blame::run, fmt::format("Open MPI cannot be loaded: {}", why), Hint{kInstall});
}

template <class Pointer>
void find(void* library, Pointer& pointer, const char* name) {
  pointer = reinterpret_cast<Pointer>(::dlsym(library, name));
  if (pointer == nullptr)
    throw Error(Blame::run, fmt::format("the MPI library here is not Open MPI: it has no {}", name),
                Hint{kInstall});
}

Mpi load() {
  void* library = open_library();
  Mpi m;
#define HEADROOM_MPI_FIND(name) find(library, m.name, "MPI_" #name);
  HEADROOM_MPI_CALLS(HEADROOM_MPI_FIND)
#undef HEADROOM_MPI_FIND
  m.query_cuda = reinterpret_cast<int (*)()>(::dlsym(library, "MPIX_Query_cuda_support"));
  find(library, m.world, "ompi_mpi_comm_world");
  find(library, m.errors_return, "ompi_mpi_errors_return");
  find(library, m.no_info, "ompi_mpi_info_null");
  find(library, m.f64, "ompi_mpi_double");
  find(library, m.f32, "ompi_mpi_float");
  find(library, m.i64, "ompi_mpi_int64_t");
  find(library, m.i32, "ompi_mpi_int32_t");
  find(library, m.u16, "ompi_mpi_uint16_t");
  find(library, m.u8, "ompi_mpi_uint8_t");
  find(library, m.sum, "ompi_mpi_op_sum");
  find(library, m.max, "ompi_mpi_op_max");
  find(library, m.min, "ompi_mpi_op_min");
  return m;
}

}  // namespace

const Mpi& mpi() {
  static const Mpi m = load();
  return m;
}

MPI_Datatype Mpi::type(DType dtype) const {
  switch (dtype) {
    case DType::f64:
      return f64;
    case DType::f32:
      return f32;
    case DType::i64:
      return i64;
    case DType::i32:
      return i32;
    case DType::f16:
    case DType::bf16:
      return u16;  // moved, never added: see require_reducible
    default:
      return u8;
  }
}

MPI_Op Mpi::op(Reduction reduction) const {
  return reduction == Reduction::sum ? sum : reduction == Reduction::max ? max : min;
}

void Mpi::check(int code, std::string_view call) const {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  Error_string(code, words, &length);
  fail("{}: {}", call, std::string_view(words, static_cast<std::size_t>(length)));
}

}  // namespace headroom

#endif
