#pragma once

// Open MPI, loaded on first use: the program is built without linking it and runs without it. Its header
// supplies types and constants. Handles such as MPI_COMM_WORLD are addresses within the library, so they are
// looked up like functions.

#ifdef HEADROOM_HAS_MPI

#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <string>

#include "comm/communicator.h"

namespace headroom {

#define HEADROOM_MPI_CALLS(call)                                                                           \
  call(Init_thread) call(Finalize) call(Abort) call(Comm_rank) call(Comm_size) call(Comm_split)            \
      call(Comm_split_type) call(Comm_free) call(Comm_set_errhandler) call(Allreduce) call(Reduce_scatter) \
          call(Allgatherv) call(Bcast) call(Barrier) call(Error_string) call(Wtime)                        \
              call(Get_library_version)

struct Mpi {
#define HEADROOM_MPI_CALL(name) decltype(::MPI_##name)* name = nullptr;
  HEADROOM_MPI_CALLS(HEADROOM_MPI_CALL)
#undef HEADROOM_MPI_CALL
  int (*query_cuda)() = nullptr;  // MPIX_Query_cuda_support; null if this build lacks it

  MPI_Comm world = nullptr;
  MPI_Errhandler errors_return = nullptr;
  MPI_Info no_info = nullptr;
  MPI_Datatype f64 = nullptr, f32 = nullptr, i64 = nullptr, i32 = nullptr, u16 = nullptr, u8 = nullptr;
  MPI_Op sum = nullptr, max = nullptr, min = nullptr;

  MPI_Datatype type(DType dtype) const;
  MPI_Op op(Reduction reduction) const;
  // Throws MPI's own message for a failed call.
  void check(int code, std::string_view call) const;
};

// Throws if the library cannot be loaded, and says what is missing and what to try.
const Mpi& mpi();

}  // namespace headroom

#endif
