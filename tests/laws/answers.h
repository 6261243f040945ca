// What the program answers to files that are changed in this process.
#pragma once

#include <optional>
#include <string>

#include "shelf.h"
#include "support/temporary_folder.h"

namespace cairn::laws {

class Answers {
 public:
  Answers();

  const Shelf& shelf() const { return shelf_; }

  // What a run reads, by kind: the experiment, with or without its calibration written in it, the fabrics, and the file
  // of its framework where that was drawn.
  Json files_of(Json experiment, bool with_calibration) const;

  // What `cairn run` answers, without the experiment and the sources that it repeats; nothing where it is refused.
  std::optional<std::string> run(const Json& files) const;

  // What `cairn topology` answers of the cluster, and of one of its levels as a network by itself; nothing of what is
  // refused. `level` is a place in it.
  std::string network(const Json& files, Json::json_pointer level) const;

 private:
  class Over;

  Shelf shelf_;
  Json fabrics_;
  test::TemporaryFolder graphs_;
};

// Graphs that drawn clusters name.
inline constexpr const char* k_graphs[] = {"cables", "more-cables"};

}  // namespace cairn::laws
