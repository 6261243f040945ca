// One search by several processes.
//
// All of them hold the same space. The first, of rank 0, runs search(), which keeps the queue of boxes; the others run
// serve(), which explores the boxes that it is sent and returns what it finds. A process is given boxes as it returns
// others, so a slow one has fewer. What is found of a box depends on nothing but the box, and the first looks at it in
// the order in which one process alone would: any number of processes gives the same answer, byte for byte.
//
//   rank r -> 0   {"of": ..., "threads": T}   it has begun
//                 {"found": [line, ...]}      lines as in a journal (journal.h)
//                 {"threw": {"box": box, "problem": problem}}   it explored a box, which failed
//                 {"failed": problem}         it cannot go on
//                 {"gone": true}              its last word
//   rank 0 -> r   {"boxes": [box, ...]}
//                 {"end": true}
//
// Messages are CBOR (RFC 8949).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

namespace cairn::search {

struct Request;  // search.h

struct Message {
  std::size_t from = 0;
  std::vector<std::uint8_t> bytes = {};
};

// What carries messages between the processes, in order between any two. Called by one thread at a time. Neither call
// waits: nobody that waits for a message takes a core from those that compute.
class Wire {
 public:
  Wire() = default;
  virtual ~Wire() = default;
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;

  virtual std::size_t rank() const = 0;
  virtual std::size_t ranks() const = 0;
  // Processes of the same machine, this one among them.
  virtual std::size_t ranks_here() const = 0;
  virtual void send(std::size_t to, std::vector<std::uint8_t> bytes) = 0;
  virtual std::optional<Message> receive() = 0;
};

// Explores the boxes that rank 0 sends over request.wire, on request.threads, until it is dismissed. Of the request
// `top`, `exhaustive`, `contention`, `journal`, `stop` and `progress` are those of rank 0.
void serve(const Request& request);
// Tells rank 0 why this process cannot serve, and waits until it is dismissed. Rank 0 throws an exception that
// ends it with the exit code that this one would have: core::ConfigurationError for what a user can get wrong,
// core::InputOutputError, core::CapabilityError, and std::runtime_error, an internal error, for anything else.
void decline(Wire& wire, const std::exception_ptr& problem);
// By rank 0, when its answer has been written or there will be none: the others may go. Returns when they have said so,
// however late: the end of MPI waits for every process, so that going without one that is stopped (SIGSTOP) would only
// move the wait, and ending without MPI's end is an error to the launcher, beside an answer that is right.
void dismiss(Wire& wire);

}  // namespace cairn::search
