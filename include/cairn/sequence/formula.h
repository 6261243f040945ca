// Mathematics as sums over named loops, so that shares of it can be given to ranks and checked point by point.
//
// A tensor is written with a letter for each of its axes, and so is what an operator reads and writes:
//   S[nhk] = Q[nhd] K[khd]      loops n, h, k and, since S lacks it, a sum over d
//   P[c]   = P[c-] M[c-]        c- is c - 1 and c+ is c + 1; points where that lies outside are left out
// An operator computes one number at every point of its loops and joins it to the element of the result there, as the
// tensor's Meeting says. So every element is the sum (or the maximum, ...) of contributions that can be made apart, by
// several operators and several ranks, and met in any order. An element that has all of them is whole. An element that
// no operator reaches is the sum of nothing, and whole everywhere.
//
// Example: softmax along k is four operators, X = max_k S, E = exp(S - X), D = sum_k E and P = E / D.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cairn::sequence {

// Of the operands a, b, c of an operator, in their order.
enum class Kernel : std::uint8_t {
  product,             // scale a b; scale a of one operand
  ratio,               // a / b
  exp_difference,      // exp(a - b)
  plus_log,            // a + log(b)
  product_difference,  // a (b - c)
  positive,            // max(a, 0)
  where_positive,      // a where b > 0, else 0
  weighted             // a, with the weight b: of results that meet by their softmax
};

// How contributions to one element become one.
enum class Meeting : std::uint8_t {
  added,
  largest,
  softmax  // (a, w) and (b, v) become ((a e^w + b e^v) / (e^w + e^v), log(e^w + e^v))
};

struct Range {
  std::int64_t first = 0;
  std::int64_t count = 0;
  friend auto operator<=>(const Range&, const Range&) = default;
};

// Ranges of some loops or axes by their letters; all of the others.
using Box = std::vector<std::pair<char, Range>>;

struct FormulaTensor {
  std::string name;
  std::string letters;
  std::vector<std::int64_t> extents = {};
  Meeting meeting = Meeting::added;
  bool given = false;             // no operator makes it
  std::int64_t bytes = 0;         // [B] of an element when sent, of all sequences
  std::int64_t weight_bytes = 0;  // [B] beside that for every row of the last axis: of results that meet by softmax

  std::int64_t elements() const;
};

// The place of one axis: loop letter + offset.
struct AxisPlace {
  char loop = 0;
  std::int64_t offset = 0;
};
struct Access {
  std::size_t tensor = 0;
  std::vector<AxisPlace> places = {};
};

// Points where `later` >= `earlier`, or > if strict.
struct Guard {
  char later = 0;
  char earlier = 0;
  bool strict = false;
};

struct Operator {
  std::string label;  // operators of one label are computed together
  Kernel kernel = Kernel::product;
  Access result = {};
  std::vector<Access> operands = {};
  std::string loops = {};  // those of the result, in its order, before those that are summed over
  double scale = 1.0;
  std::optional<Guard> guard = {};
};

struct Terms {
  double scale = 1.0;
  std::optional<Guard> guard = {};
};

class Formula {
 public:
  // How many steps the loop of each letter has, and bytes of an element where nothing else is said, of all sequences.
  // Throws core::ConfigurationError where either is below 1.
  Formula(std::map<char, std::int64_t> extents, std::int64_t bytes_of_element);

  // Declares a tensor, "Q[nhd]"; results need it only where they are not sums of elements of so many bytes.
  void given(std::string_view written) { given(written, bytes_of_element_); }
  void given(std::string_view written, std::int64_t bytes);
  void result(std::string_view written, std::int64_t bytes, Meeting meeting = Meeting::added,
              std::int64_t weight_bytes = 0);
  // Adds an operator. A result that was not declared has the letters that are written here.
  void add(std::string_view label, Kernel kernel, std::string_view result, std::vector<std::string_view> operands,
           const Terms& terms = {});

  std::int64_t extent(char letter) const { return extents_.at(letter); }
  std::int64_t bytes_of_element() const { return bytes_of_element_; }
  const std::vector<FormulaTensor>& tensors() const { return tensors_; }
  const std::vector<Operator>& operators() const { return operators_; }
  // Whether there is a tensor of that name, and its number.
  std::optional<std::size_t> find(std::string_view name) const;
  std::size_t index(std::string_view name) const;

 private:
  Access access(std::string_view written);
  void declare(FormulaTensor tensor);

  std::map<char, std::int64_t> extents_;
  std::int64_t bytes_of_element_;
  std::vector<FormulaTensor> tensors_;
  std::vector<Operator> operators_;
};

// Numbers of tensors by name, the last axis fastest.
template <class Real>
using Numbers = std::map<std::string, std::vector<Real>, std::less<>>;

// Of the given tensors, uniform in [-1, 1).
Numbers<float> random_numbers(const Formula& formula, std::uint64_t seed);

struct Evaluation {
  Numbers<double> numbers = {};
  std::int64_t points = 0;  // of all operators
};
// All tensors, in fp64 on one machine. `inputs` must name all given tensors.
Evaluation evaluate(const Formula& formula, const Numbers<float>& inputs);
Evaluation evaluate(const Formula& formula, const Numbers<double>& inputs);

}  // namespace cairn::sequence
