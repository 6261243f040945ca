// The kinds of passes of a stage, and their numbers ("slots") in a Stage's list of passes.
#pragma once

#include <array>
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
  // that overlap computation run beside these two.
  bool special = false;
};

// The parts that a stage's passes come in. What a plan exchanges with its copies decides the passes of a part together,
// so plans that agree in what a part depends on have it in common.
enum class PassPart : std::uint8_t {
  plain,   // passes that compute a chunk and are not special
  first,   // special forward passes
  last,    // the other special passes
  end,     // those that serve all chunks at once
  beside,  // those of side rows
};
inline constexpr std::size_t k_pass_parts = 5;
inline constexpr std::array<PassPart, k_pass_parts> k_all_pass_parts{PassPart::plain, PassPart::first, PassPart::last,
                                                                     PassPart::end, PassPart::beside};

// The passes that a stage has under a schedule, numbered densely, part after part.
class PassLayout {
 public:
  PassLayout() = default;
  // `splits`: backward passes have two parts; `awaits`: updates wait for several messages; `sides`: side rows exist.
  PassLayout(std::int32_t chunks, bool splits, bool awaits, bool sides)
      : chunks_(chunks), splits_(splits), awaits_(awaits), sides_(sides) {
    const std::array<std::int32_t, k_pass_parts> widths{chunks * plain_of_chunk(), chunks, chunks * (splits ? 2 : 1),
                                                        awaits ? 3 : 2, sides ? chunks * k_sides : 0};
    for (std::size_t part = 0; part < k_pass_parts; ++part) begin_[part + 1] = begin_[part] + widths[part];
  }

  friend bool operator==(const PassLayout&, const PassLayout&) = default;
  std::int32_t chunks() const { return chunks_; }
  bool splits() const { return splits_; }
  bool awaits() const { return awaits_; }
  bool sides() const { return sides_; }
  std::int64_t size() const { return begin_.back(); }

  // The numbers of a part: as many as width(), from begin() on.
  std::size_t begin(PassPart part) const { return static_cast<std::size_t>(begin_[static_cast<std::size_t>(part)]); }
  std::size_t width(PassPart part) const {
    const auto index = static_cast<std::size_t>(part);
    return static_cast<std::size_t>(begin_[index + 1] - begin_[index]);
  }
  PassPart part(std::size_t slot) const {
    std::size_t part = 0;
    while (slot >= static_cast<std::size_t>(begin_[part + 1])) ++part;
    return static_cast<PassPart>(part);
  }
  // Whether it is the number of a pass of the end of a step.
  bool is_end(std::size_t slot) const { return part(slot) == PassPart::end; }

  // The number of a pass that the schedule has.
  std::int64_t slot(const PassKey& key) const {
    const std::int64_t chunk = key.chunk;
    const std::int64_t plain = plain_of_chunk() * chunk;
    switch (key.kind) {
      case PassKind::forward:
        return key.special ? first(PassPart::first) + chunk : plain;
      case PassKind::backward:
        return key.special ? first(PassPart::last) + chunk : plain + 1;
      case PassKind::input_gradient:
        return plain + (key.special ? 3 : 2);
      case PassKind::weight_gradient:
        return key.special ? first(PassPart::last) + chunks_ + chunk : plain + 4;
      case PassKind::finalize:
      case PassKind::update:
      case PassKind::await:
        return first(PassPart::end) + (static_cast<std::int64_t>(key.kind) - k_first_end);
      default:
        return first(PassPart::beside) + k_sides * chunk + (static_cast<std::int64_t>(key.kind) - k_first_side);
    }
  }

 private:
  static constexpr auto k_first_end = static_cast<std::int64_t>(PassKind::finalize);
  static constexpr auto k_first_side = static_cast<std::int64_t>(PassKind::fetch);
  static constexpr auto k_sides =
      static_cast<std::int32_t>(static_cast<std::int64_t>(PassKind::sent) - k_first_side + 1);

  // Forward and backward; also both of input gradients, special or not, and the weight gradient.
  std::int32_t plain_of_chunk() const { return splits_ ? 5 : 2; }
  std::int64_t first(PassPart part) const { return begin_[static_cast<std::size_t>(part)]; }

  std::int32_t chunks_ = 0;
  bool splits_ = false;
  bool awaits_ = false;
  bool sides_ = false;
  std::array<std::int32_t, k_pass_parts + 1> begin_{};
};

}  // namespace cairn::program
