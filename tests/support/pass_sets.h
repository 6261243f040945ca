// The passes of a Program that is put together by hand, all of whose stages are alike.
#pragma once

#include <array>
#include <cstddef>

#include "cairn/program/program.h"

namespace cairn::testing {

class PassSets {
 public:
  // All do `nothing`, until set() says otherwise.
  PassSets(const program::PassLayout& layout, const program::Pass& nothing) : layout_(layout) {
    for (const program::PassPart part : program::k_all_pass_parts)
      set_of(part).passes.assign(layout.width(part), &nothing);
  }
  PassSets(const PassSets&) = delete;
  PassSets& operator=(const PassSets&) = delete;

  void set(const program::PassKey& key, const program::Pass& pass) {
    const auto slot = static_cast<std::size_t>(layout_.slot(key));
    const program::PassPart part = layout_.part(slot);
    set_of(part).passes[slot - layout_.begin(part)] = &pass;
  }
  // Its passes are these from now on. Its kinds of stages are set before.
  void use_in(program::Program& program) {
    for (std::size_t part = 0; part < sets_.size(); ++part) {
      program::PassSet& set = sets_[part];
      set.id = static_cast<std::int32_t>(part);
      set.profiles.clear();
      for (const program::Pass* pass : set.passes) set.profiles.push_back(pass->profile);
      course_.sets[part] = &set;
    }
    course_.id = 0;
    program.course = &course_;
    program.end = &set_of(program::PassPart::end);
    course_.memory = program.memory_before_ends();
  }

 private:
  program::PassSet& set_of(program::PassPart part) { return sets_[static_cast<std::size_t>(part)]; }

  program::PassLayout layout_;
  std::array<program::PassSet, program::k_pass_parts> sets_;
  program::Course course_;
};

}  // namespace cairn::testing
