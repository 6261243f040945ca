// The blocks that a pass begins and ends with: what it receives and sends.
#pragma once

#include "interned.h"
#include "message_key.h"
#include "step_writer.h"
#include "vocabulary.h"

namespace cairn::plan {

// The tensors that pass from one stage to the next, on one rank.
struct Border {
  double bytes = 0.0;
  bool sliced = false;  // sent as slices over the tensor axis, gathered on arrival
  friend bool operator==(const Border&, const Border&) = default;
};

struct BeginOptions {
  bool receives = false;
  bool forward = true;
  Border border;
  MessageKey messages;
  friend bool operator==(const BeginOptions&, const BeginOptions&) = default;
  std::size_t hash() const;
};
// The beginning of a pass: the host work of its micro-batch (forward only), and the wait for its message, if it
// receives one: computation waits, and so does the host thread if it waits for arrivals.
Block begin(const BeginOptions& options);

struct SendOptions {
  bool forward = true;
  Hop hop = Hop::inside;
  Border border;
  MessageKey messages;
  friend bool operator==(const SendOptions&, const SendOptions&) = default;
  std::size_t hash() const;
};
Block send(const SendOptions& options);

}  // namespace cairn::plan
