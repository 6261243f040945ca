#include <functional>
#include <string>

#include "cairn/pebble/vertical.h"
#include "parts.h"

namespace cairn::bound {
namespace {

// Words across one link of a memory hierarchy, `fast` words below it: a lower bound of the whole computation.
using WholeBound = std::function<pebble::LowerBound(pebble::Words fast)>;

// The links of an accelerator: from device memory through its caches to each multiprocessor. Registers are left out,
// since tensor units read operands past them; the time of a multiprocessor's link, since neighbours may pass words on.
// Of several units: a share of what crosses when they are one memory (vertical.h), or one unit's share of the points.
void add_links(Answer& answer, const WholeBound& whole, const pebble::Contraction* product,
               const hardware::Accelerator& accelerator) {
  if (!accelerator.on_chip_capacity()) return;
  const auto& memory = accelerator.memory;
  const auto in_each = [&](std::size_t i) { return memory[i].scope == hardware::Scope::multiprocessor; };
  for (std::size_t i = 1; i < memory.size(); ++i) {
    if (in_each(i) && in_each(i - 1)) continue;  // memories of one multiprocessor lie beside each other
    const std::int64_t units = in_each(i) ? accelerator.multiprocessors : 1;
    core::Bytes held = {};
    for (std::size_t below = i; below < memory.size(); ++below)
      held += memory[below].capacity *
              (in_each(below) && units == 1 ? static_cast<double>(accelerator.multiprocessors) : 1.0);
    const pebble::Words fast = whole_words(held, answer.bytes_per_word);
    pebble::LowerBound bound = whole(whole_words(held * static_cast<double>(units), answer.bytes_per_word));
    if (units > 1) {
      bound.words = (bound.words + units - 1) / units;
      bound.method += ", all units as one memory";
    }
    if (product != nullptr) bound = larger(bound, projection_bound_of_share(*product, units, fast));
    LevelRow row{.name = units == 1 ? memory[i].name : "multiprocessor",
                 .units = units,
                 .fast = fast,
                 .words = bound.words,
                 .method = bound.method,
                 .bytes_per_s = {}};
    if (units == 1 && memory[i - 1].bandwidth) row.bytes_per_s = memory[i - 1].bandwidth->base();
    answer.levels.push_back(std::move(row));
  }
}

}  // namespace

void add_levels(Answer& answer, const pebble::Operation& operation, const hardware::Accelerator& accelerator) {
  const auto whole = [&](pebble::Words fast) {
    return best_for(lower_bounds(operation, fast), {pebble::Rules::red_blue_white, pebble::Sliding::allowed});
  };
  const bool single = operation.contractions.size() == 1;
  add_links(answer, whole, single ? &operation.contractions.front() : nullptr, accelerator);
}

void add_levels(Answer& answer, const pebble::NamedCdag& named, const hardware::Accelerator& accelerator) {
  const auto whole = [&](pebble::Words fast) {
    const pebble::Machine machine{.levels = {{.units = 1, .capacity = fast}, {.units = 1, .capacity = fast}}};
    return best_for(vertical_lower_bounds(named.graph, machine, 0),
                    {pebble::Rules::red_blue_white, pebble::Sliding::forbidden});
  };
  add_links(answer, whole, nullptr, accelerator);
}

}  // namespace cairn::bound
