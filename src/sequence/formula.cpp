#include "cairn/sequence/formula.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "cairn/core/diagnostics.h"
#include "cairn/core/random.h"
#include "formula_walk.h"

namespace cairn::sequence {
namespace {

struct Written {
  std::string name;
  std::vector<AxisPlace> places;
};

// "P[c-h]": name and places.
Written parsed(std::string_view text) {
  const std::size_t open = text.find('[');
  CAIRN_ASSERT(open != std::string_view::npos && text.back() == ']');
  Written written{.name = std::string(text.substr(0, open)), .places = {}};
  for (const char letter : text.substr(open + 1, text.size() - open - 2)) {
    if (letter == '-' || letter == '+') {
      CAIRN_ASSERT(!written.places.empty());
      written.places.back().offset += letter == '+' ? 1 : -1;
    } else {
      written.places.push_back({.loop = letter});
    }
  }
  return written;
}

std::string letters_of(const std::vector<AxisPlace>& places) {
  std::string letters;
  for (const AxisPlace& place : places) letters += place.loop;
  return letters;
}

template <class Real>
Evaluation evaluated(const Formula& formula, const Numbers<Real>& inputs) {
  const std::vector<FormulaTensor>& tensors = formula.tensors();
  std::vector<std::vector<Cell<double>>> cells;
  for (const FormulaTensor& tensor : tensors) {
    cells.emplace_back(static_cast<std::size_t>(tensor.elements()), nothing_yet<double>(tensor.meeting));
    if (!tensor.given) continue;
    const std::vector<Real>& numbers = inputs.at(tensor.name);
    for (std::size_t i = 0; i < cells.back().size(); ++i) cells.back()[i].value = static_cast<double>(numbers.at(i));
  }
  Evaluation evaluation;
  for (const Operator& op : formula.operators()) {
    const FormulaWalk walk(formula, op);
    walk.run(walk.ranges(), [&](const FormulaPoint& point) {
      if (!point.seen) return;
      std::array<double, k_most_operands> operands = {};
      for (std::size_t i = 0; i < op.operands.size(); ++i)
        operands[i] = cells[op.operands[i].tensor][static_cast<std::size_t>(point.operands[i])].value;
      meet(tensors[op.result.tensor].meeting, cells[op.result.tensor][static_cast<std::size_t>(point.result)],
           kernel_result(op, operands));
      ++evaluation.points;
    });
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::vector<double>& numbers = evaluation.numbers[tensors[i].name];
    for (const Cell<double>& cell : cells[i]) numbers.push_back(cell.value);
  }
  return evaluation;
}

}  // namespace

std::int64_t FormulaTensor::elements() const {
  return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>{});
}

Formula::Formula(std::map<char, std::int64_t> extents, std::int64_t bytes_of_element)
    : extents_(std::move(extents)), bytes_of_element_(bytes_of_element) {
  bool sized = bytes_of_element >= 1;
  for (const auto& [letter, extent] : extents_) sized = sized && extent >= 1;
  if (!sized)
    throw core::ConfigurationError("shape", "there is nothing of a dimension, or a number below 0",
                                   "give every size, and the number of sequences, as 1 or more");
}

void Formula::declare(FormulaTensor tensor) {
  CAIRN_ASSERT(!find(tensor.name));
  for (const char letter : tensor.letters) tensor.extents.push_back(extent(letter));
  tensors_.push_back(std::move(tensor));
}

void Formula::given(std::string_view written, std::int64_t bytes) {
  const Written tensor = parsed(written);
  declare({.name = tensor.name, .letters = letters_of(tensor.places), .given = true, .bytes = bytes});
}

void Formula::result(std::string_view written, std::int64_t bytes, Meeting meeting, std::int64_t weight_bytes) {
  const Written tensor = parsed(written);
  declare({.name = tensor.name,
           .letters = letters_of(tensor.places),
           .meeting = meeting,
           .bytes = bytes,
           .weight_bytes = weight_bytes});
}

Access Formula::access(std::string_view written) {
  const Written read = parsed(written);
  const std::size_t tensor = index(read.name);
  CAIRN_ASSERT(tensors_[tensor].extents.size() == read.places.size());
  for (std::size_t i = 0; i < read.places.size(); ++i)
    CAIRN_ASSERT(tensors_[tensor].extents[i] == extent(read.places[i].loop));
  return {.tensor = tensor, .places = read.places};
}

void Formula::add(std::string_view label, Kernel kernel, std::string_view result,
                  std::vector<std::string_view> operands, const Terms& terms) {
  CAIRN_ASSERT(!operands.empty() && operands.size() <= k_most_operands);
  const Written made = parsed(result);
  if (!find(made.name)) declare({.name = made.name, .letters = letters_of(made.places), .bytes = bytes_of_element_});
  Operator op{.label = std::string(label), .kernel = kernel, .scale = terms.scale, .guard = terms.guard};
  op.result = access(result);
  CAIRN_ASSERT(!tensors_[op.result.tensor].given);
  op.loops = letters_of(op.result.places);
  for (const std::string_view operand : operands) {
    op.operands.push_back(access(operand));
    for (const AxisPlace& place : op.operands.back().places)
      if (op.loops.find(place.loop) == std::string::npos) op.loops += place.loop;
  }
  operators_.push_back(std::move(op));
}

std::optional<std::size_t> Formula::find(std::string_view name) const {
  const auto found =
      std::find_if(tensors_.begin(), tensors_.end(), [&](const FormulaTensor& each) { return each.name == name; });
  if (found == tensors_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tensors_.begin());
}

std::size_t Formula::index(std::string_view name) const {
  const std::optional<std::size_t> found = find(name);
  CAIRN_ASSERT(found);
  return *found;
}

FormulaWalk::FormulaWalk(const Formula& formula, const Operator& op) : formula_(formula), op_(op) {
  result_ = line_of(op.result);
  for (const Access& operand : op.operands) operands_.push_back(line_of(operand));
  contribution_.steps.assign(op.loops.size(), 0);
  for (std::size_t loop = op.loops.size(); loop-- > op.result.places.size();) {
    contribution_.steps[loop] = contributions_;
    contributions_ *= formula.extent(op.loops[loop]);
  }
}

std::size_t FormulaWalk::loop_of(char letter) const {
  const std::size_t loop = op_.loops.find(letter);
  CAIRN_ASSERT(loop != std::string::npos);
  return loop;
}

FormulaWalk::Line FormulaWalk::line_of(const Access& access) {
  const std::vector<std::int64_t>& extents = formula_.tensors()[access.tensor].extents;
  Line line{.steps = std::vector<std::int64_t>(op_.loops.size(), 0)};
  std::int64_t step = 1;
  for (std::size_t axis = extents.size(); axis-- > 0; step *= extents[axis]) {
    const auto [letter, offset] = access.places[axis];
    line.steps[loop_of(letter)] += step;
    line.constant += step * offset;
    if (offset != 0) bounds_.push_back({.loop = loop_of(letter), .offset = offset, .extent = extents[axis]});
  }
  return line;
}

std::vector<Range> FormulaWalk::ranges(const Box& box) const {
  std::vector<Range> all;
  for (const char letter : op_.loops) {
    const auto named = std::find_if(box.begin(), box.end(), [&](const auto& each) { return each.first == letter; });
    all.push_back(named != box.end() ? named->second : Range{.first = 0, .count = formula_.extent(letter)});
  }
  return all;
}

std::int64_t FormulaWalk::Line::at(const std::vector<std::int64_t>& loops) const {
  return std::inner_product(loops.begin(), loops.end(), steps.begin(), constant);
}

bool FormulaWalk::in_bounds(const std::vector<std::int64_t>& at) const {
  return std::all_of(bounds_.begin(), bounds_.end(), [&](const Bound& bound) {
    const std::int64_t place = at[bound.loop] + bound.offset;
    return place >= 0 && place < bound.extent;
  });
}

bool FormulaWalk::seen(const std::vector<std::int64_t>& at) const {
  if (!op_.guard) return true;
  const std::int64_t ahead = at[loop_of(op_.guard->later)] - at[loop_of(op_.guard->earlier)];
  return op_.guard->strict ? ahead > 0 : ahead >= 0;
}

FormulaPoint FormulaWalk::point(const std::vector<std::int64_t>& at) const {
  FormulaPoint point{.result = result_.at(at), .contribution = contribution_.at(at), .seen = seen(at)};
  for (std::size_t i = 0; i < operands_.size(); ++i) point.operands[i] = operands_[i].at(at);
  return point;
}

Numbers<float> random_numbers(const Formula& formula, std::uint64_t seed) {
  core::Random random(seed);
  Numbers<float> numbers;
  for (const FormulaTensor& tensor : formula.tensors()) {
    if (!tensor.given) continue;
    std::vector<float>& of_tensor = numbers[tensor.name];
    for (std::int64_t i = 0; i < tensor.elements(); ++i)
      of_tensor.push_back(static_cast<float>(2 * random.uniform() - 1));
  }
  return numbers;
}

Evaluation evaluate(const Formula& formula, const Numbers<float>& inputs) { return evaluated(formula, inputs); }
Evaluation evaluate(const Formula& formula, const Numbers<double>& inputs) { return evaluated(formula, inputs); }

}  // namespace cairn::sequence
