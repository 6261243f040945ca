#include "bound_words.h"

#include <algorithm>

namespace cairn::report {
namespace {

struct Entry {
  std::string_view used;  // by methods that have this in them
  BoundWord word;
};

constexpr Entry k_entries[] = {
    {"compulsory", {"compulsory", "every input is loaded once, every output stored once"}},
    {"projection",
     {"projection",
      "so many values of each operand and of the results serve only so many operations (Loomis, Whitney)"}},
    {"in a row",
     {"in a row",
      "the work is cut after every so many loads or transfers; from one cut to the next only these values and those "
      "held "
      "at the cut are at hand, which serve so many operations at most"}},
    {"sum that begins",
     {"a sum that begins",
      "the proof lets every sum load a zero first; these loads are as many as the stores, which it leaves out"}},
    {"sums that begin",
     {"sums that begin", "the proof lets every sum load a zero first, which no program has to: taken off again"}},
    {"disjoint parts", {"disjoint parts", "parts of the computation that share no operation; their bounds add up"}},
    {"neighbours' values", {"neighbours' values", "what another part makes or uses; its movement is not counted here"}},
    {"wavefront",
     {"wavefront",
      "at one moment more values are still needed than the fast memory holds; the rest have to move again"}},
    {"pairs of rows",
     {"pairs of rows", "every query row meets every key row; the rows at hand make only so many pairs"}},
    {"values made again",
     {"values made again", "holds for schedules too that compute a value several times rather than load it"}},
    {"sums stay", {"sums stay", "a tile of results stays in fast memory while the operands pass by"}},
    {"tiles of space-time",
     {"space-time", "several steps of a block of cells are done before its values leave the fast memory"}},
    {"program order", {"program order", "the operations one after the other as they are listed"}},
    {"greedy by live words",
     {"greedy by live words", "the next operation is the one that leaves fewest values to be kept"}},
    {"convex partition",
     {"convex partition", "the operations cut into blocks, none of which waits for a later one, block after block"}},
    {"farthest next use", {"farthest next use", "what makes room is the value that is needed again last"}}};

}  // namespace

std::vector<BoundWord> bound_words(std::span<const std::string_view> methods) {
  std::vector<BoundWord> found;
  for (const Entry& entry : k_entries)
    if (std::any_of(methods.begin(), methods.end(),
                    [&](std::string_view method) { return method.find(entry.used) != std::string_view::npos; }))
      found.push_back(entry.word);
  return found;
}

const char* counted(const bound::DevicesRow& row) {
  return row.counted == bound::DevicesRow::Counted::each_way ? "each way" : "sent and received together";
}

const std::vector<std::string>& assumptions_of_layers() {
  static const std::vector<std::string> all{"every value computed once; what is recomputed is an operator of its own",
                                            "one running sum per result of a contraction"};
  return all;
}

}  // namespace cairn::report
