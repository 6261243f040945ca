// The kinds of passes of a stage, and their numbers ("slots") in a Stage's list of passes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cairn::program {

enum class PassKind : std::uint8_t {
  forward,
  backward,
  input_gradient,   // the first part of a split backward pass (zero-bubble schedules)
  weight_gradient,  // the second part
  // The next three serve all chunks at once, at the end of a step or where a schedule updates parameters within it.
  finalize,  // finishes the reduction of the gradients
  update,    // updates the parameters
  await,     // waits for one message of a replica group; the update itself waits for the last of them
  // The rest copy or exchange data beside the computation, as a schedule's side rows say (pass_order.h): in come
  // parameters of a chunk or activations from the host, out go gradients or activations to the host.
  fetch,    // starts a transfer in
  fetched,  // waits for its end
  release,  // frees the memory of what came in
  reserve,  // takes memory for what will go out
  send,     // starts a transfer out
  sent,     // waits for its end and frees the memory
};

// Whether a pass computes one chunk for one micro-batch.
constexpr bool of_chain(PassKind kind) { return kind <= PassKind::weight_gradient; }

struct PassKey {
  PassKind kind = PassKind::forward;
  std::int32_t chunk = 0;
  // The first forward pass of a chunk, or the last pass that computes its weight gradients: data-parallel collectives
  // that overlap computation run beside these two. Parameters that stay gathered for the whole step
  // (Gathered::for_the_step of src/plan/state/unit_settings.h) rely on this mark, too: the forward pass brings them,
  // and the other lets them go.
  bool special = false;
};

// The passes that a stage has under a schedule, numbered densely.
class PassLayout {
 public:
  PassLayout() = default;
  // `splits`: backward passes have two parts; `awaits`: updates wait for several messages; `sides`: side rows exist.
  PassLayout(std::int32_t chunks, bool splits, bool awaits, bool sides)
      : chunks_(chunks), splits_(splits), awaits_(awaits), sides_(sides) {}

  friend bool operator==(const PassLayout&, const PassLayout&) = default;
  std::int32_t chunks() const { return chunks_; }
  bool splits() const { return splits_; }
  bool awaits() const { return awaits_; }
  bool sides() const { return sides_; }
  std::int64_t size() const { return sides_begin() + (sides_ ? std::int64_t{k_sides} * chunks_ : 0); }

  // Whether it is the number of a pass of the end of a step.
  bool is_end(std::size_t slot) const {
    const auto number = static_cast<std::int64_t>(slot);
    return number >= ends_begin() && number < sides_begin();
  }
  // The number of a pass that the schedule has.
  std::int64_t slot(const PassKey& key) const {
    const std::int64_t chunk = key.chunk;
    const std::int64_t special = key.special ? 1 : 0;
    switch (key.kind) {
      case PassKind::forward:
        return k_whole * chunk + special;
      case PassKind::backward:
        return k_whole * chunk + 2 + special;
      case PassKind::input_gradient:
        return k_whole * (chunks_ + chunk) + special;
      case PassKind::weight_gradient:
        return k_whole * (chunks_ + chunk) + 2 + special;
      case PassKind::finalize:
      case PassKind::update:
      case PassKind::await:
        return ends_begin() + (static_cast<std::int64_t>(key.kind) - k_first_end);
      default:
        return sides_begin() + k_sides * chunk + (static_cast<std::int64_t>(key.kind) - k_first_side);
    }
  }

 private:
  static constexpr std::int64_t k_whole = 4;  // two kinds of a chunk, each plain and special
  static constexpr auto k_first_end = static_cast<std::int64_t>(PassKind::finalize);
  static constexpr auto k_first_side = static_cast<std::int64_t>(PassKind::fetch);
  static constexpr std::int64_t k_sides = static_cast<std::int64_t>(PassKind::sent) - k_first_side + 1;

  std::int64_t ends_begin() const { return k_whole * chunks_ * (splits_ ? 2 : 1); }
  std::int64_t sides_begin() const { return ends_begin() + 2 + (awaits_ ? 1 : 0); }

  std::int32_t chunks_ = 0;
  bool splits_ = false;
  bool awaits_ = false;
  bool sides_ = false;
};

}  // namespace cairn::program
