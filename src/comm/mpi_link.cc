#include "comm/mpi_link.h"

#ifdef HEADROOM_HAS_MPI

#include <climits>
#include <cstring>

#include "base/shares.h"
#include "comm/mpi_library.h"

namespace headroom {
namespace {

class MpiLink final : public Link {
 public:
  explicit MpiLink(MPI_Comm comm) : comm_(comm) {
    m_.check(m_.Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    m_.check(m_.Comm_size(comm_, &size_), "MPI_Comm_size");
    m_.check(m_.Comm_set_errhandler(comm_, m_.errors_return), "MPI_Comm_set_errhandler");
    counts_.resize(static_cast<std::size_t>(size_));
    starts_.resize(counts_.size());
  }
  // The communicator is not freed: that is a collective call, and a rank that stops on an error must not wait
  // for the others. There are only a few.

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void limit(std::int64_t most) override { most_ = most; }

  void perform(const Collective& c) override {
    switch (c.kind) {
      case Collective::Kind::all_reduce:
        return in_pieces(c, [&](void* data, int count) {
          m_.check(m_.Allreduce(MPI_IN_PLACE, data, count, m_.type(c.dtype), m_.op(c.reduction), comm_),
                   "MPI_Allreduce");
        });
      case Collective::Kind::broadcast:
        return in_pieces(c, [&](void* data, int count) { send_from(c.root, data, count, c.dtype); });
      case Collective::Kind::barrier:
        return m_.check(m_.Barrier(comm_), "MPI_Barrier");
      case Collective::Kind::all_gather:
        return all_gather(c);
      case Collective::Kind::reduce_scatter:
        return reduce_scatter(c);
    }
  }

  void gather_parts(void* data, const std::vector<int>& counts, DType dtype) override {
    set_starts(counts);
    m_.check(m_.Allgatherv(MPI_IN_PLACE, 0, m_.type(dtype), data, counts.data(), starts_.data(),
                           m_.type(dtype), comm_),
             "MPI_Allgatherv");
  }

  void scatter_parts(void* data, const std::vector<int>& counts, DType dtype, Reduction reduction) override {
    m_.check(m_.Reduce_scatter(MPI_IN_PLACE, data, counts.data(), m_.type(dtype), m_.op(reduction), comm_),
             "MPI_Reduce_scatter");
  }

  bool takes_device_memory() const override { return m_.query_cuda != nullptr && m_.query_cuda() == 1; }

  std::unique_ptr<Link> split(int colour) override {
    MPI_Comm part = nullptr;
    m_.check(m_.Comm_split(comm_, colour, rank_, &part), "MPI_Comm_split");
    return std::make_unique<MpiLink>(part);
  }

 private:
  template <class Piece>
  void in_pieces(const Collective& c, Piece piece) const {
    const auto width = static_cast<std::int64_t>(size_of(c.dtype));
    for (std::int64_t at = 0; at < c.count; at += most_)
      piece(static_cast<char*>(c.data) + at * width, static_cast<int>(std::min(most_, c.count - at)));
  }

  void send_from(int root, void* data, int count, DType dtype) const {
    m_.check(m_.Bcast(data, count, m_.type(dtype), root, comm_), "MPI_Bcast");
  }

  // The offsets of the parts are ints too. For a larger total, each rank broadcasts its part in turn.
  void all_gather(const Collective& c) {
    if (c.count <= most_) return gather_parts(c.data, shares(c.count), c.dtype);
    for (int r = 0; r < size_; ++r)
      in_pieces(part_of(c, r), [&](void* data, int count) { send_from(r, data, count, c.dtype); });
  }

  void reduce_scatter(const Collective& c) {
    if (c.count > most_) {
      Collective all = c;
      all.kind = Collective::Kind::all_reduce;
      return perform(all);
    }
    scatter_parts(c.data, shares(c.count), c.dtype, c.reduction);
    const Collective mine = part_of(c, rank_);
    if (mine.count > 0) std::memmove(mine.data, c.data, static_cast<std::size_t>(mine.bytes()));
  }

  Collective part_of(const Collective& c, int rank) const {
    const Share share = share_of(c.count, size_, rank);
    Collective part = c;
    part.data = static_cast<char*>(c.data) + share.first * static_cast<std::int64_t>(size_of(c.dtype));
    part.count = share.count;
    return part;
  }

  const std::vector<int>& shares(std::int64_t count) {
    for (int r = 0; r < size_; ++r)
      counts_[static_cast<std::size_t>(r)] = static_cast<int>(share_of(count, size_, r).count);
    return counts_;
  }
  void set_starts(const std::vector<int>& counts) {
    int next = 0;
    for (std::size_t r = 0; r < counts.size(); ++r) {
      starts_[r] = next;
      next += counts[r];
    }
  }

  const Mpi& m_ = mpi();
  MPI_Comm comm_;
  int rank_ = 0, size_ = 1;
  std::int64_t most_ = INT_MAX;  // MPI counts in an int
  std::vector<int> counts_, starts_;
};

}  // namespace

void mpi_start() {
  const Mpi& m = mpi();
  int provided = 0;
  m.check(m.Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  // Only this thread calls MPI, but it is not the program's first thread.
  if (provided < MPI_THREAD_FUNNELED)
    fail("this MPI cannot be used by a program with threads (it offers level {})", provided);
}

void mpi_finish() { mpi().check(mpi().Finalize(), "MPI_Finalize"); }

void mpi_abort(int code) { mpi().Abort(mpi().world, code); }

std::unique_ptr<Link> mpi_world_link() { return std::make_unique<MpiLink>(mpi().world); }

LocalRanks mpi_local_ranks() {
  const Mpi& m = mpi();
  MPI_Comm here = nullptr;
  LocalRanks local;
  m.check(m.Comm_split_type(m.world, MPI_COMM_TYPE_SHARED, 0, m.no_info, &here), "MPI_Comm_split_type");
  m.check(m.Comm_rank(here, &local.rank), "MPI_Comm_rank");
  m.check(m.Comm_size(here, &local.size), "MPI_Comm_size");
  m.check(m.Comm_free(&here), "MPI_Comm_free");
  return local;
}

}  // namespace headroom

#endif
