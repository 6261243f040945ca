#include "cairn/pebble/operation_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "cairn/pebble/contraction_graph.h"
#include "checked.h"

namespace cairn::pebble {

namespace {

constexpr const char* k_between = " \t\n\r\f\v,";  // words

struct Recipe {
  std::vector<OperatorKey> keys;
  std::function<Operation(const std::vector<Words>&)> make;
};

const std::map<std::string, Recipe>& recipes() {
  using P = const std::vector<Words>&;
  static const std::map<std::string, Recipe> all = {
      {"matmul",
       {{{"m", {}}, {"n", {}}, {"k", {}}}, [](P p) { return matmul_operation({.m = p[0], .n = p[1], .k = p[2]}); }}},
      {"matmul-update",
       {{{"m", {}}, {"n", {}}, {"k", {}}},
        [](P p) { return matmul_update_operation({.m = p[0], .n = p[1], .k = p[2]}); }}},
      {"batched-matmul",
       {{{"b", {}}, {"m", {}}, {"n", {}}, {"k", {}}},
        [](P p) { return matmul_operation({.m = p[1], .n = p[2], .k = p[3], .batch = p[0]}); }}},
      {"matmul-chain",
       {{{"m", {}}, {"k", {}}, {"n", {}}, {"l", {}}},
        [](P p) { return matmul_chain_operation({.m = p[0], .k = p[1], .n = p[2], .l = p[3]}); }}},
      {"attention",
       {{{"n", {}}, {"d", {}}, {"heads", 1}, {"kv_heads", 0}, {"b", 1}, {"causal", 0}, {"online", 0}},
        [](P p) {
          return attention_operation({.sequence = p[0],
                                      .head_dim = p[1],
                                      .heads = p[2],
                                      .kv_heads = p[3] == 0 ? p[2] : p[3],
                                      .batch = p[4],
                                      .causal = p[5] > 0,
                                      .online = p[6] > 0});
        }}},
      {"attention-backward",
       {{{"n", {}}, {"d", {}}, {"heads", 1}, {"kv_heads", 0}, {"b", 1}, {"causal", 0}},
        [](P p) {
          return attention_backward_operation({.sequence = p[0],
                                               .head_dim = p[1],
                                               .heads = p[2],
                                               .kv_heads = p[3] == 0 ? p[2] : p[3],
                                               .batch = p[4],
                                               .causal = p[5] > 0});
        }}},
      {"conv2d",
       {{{"b", 1}, {"ci", {}}, {"co", {}}, {"h", {}}, {"w", {}}, {"r", {}}, {"s", {}}, {"stride", 1}},
        [](P p) {
          return conv2d_operation({.batch = p[0],
                                   .in_channels = p[1],
                                   .out_channels = p[2],
                                   .height = p[3],
                                   .width = p[4],
                                   .filter_height = p[5],
                                   .filter_width = p[6],
                                   .stride = p[7]});
        }}},
      {"syrk", {{{"n", {}}, {"m", {}}}, [](P p) { return syrk_operation(p[0], p[1]); }}},
      {"lu", {{{"n", {}}}, [](P p) { return lu_operation(p[0]); }}},
      {"cholesky", {{{"n", {}}}, [](P p) { return cholesky_operation(p[0]); }}},
      {"fft", {{{"n", {}}}, [](P p) { return fft_operation(p[0]); }}},
      {"embedding",
       {{{"tokens", {}}, {"width", {}}, {"rows", {}}},
        [](P p) { return embedding_operation({.tokens = p[0], .width = p[1], .distinct_rows = p[2]}); }}},
      {"softmax", {{{"rows", 1}, {"n", {}}}, [](P p) { return softmax_operation(p[0], p[1]); }}},
      {"layernorm", {{{"rows", 1}, {"n", {}}}, [](P p) { return reduce_broadcast_operation(p[0], p[1]); }}},
      {"cg", {{{"n", {}}, {"t", {}}}, [](P p) { return cg_operation({.unknowns = p[0], .iterations = p[1]}); }}},
      {"gmres", {{{"n", {}}, {"m", {}}}, [](P p) { return gmres_operation({.unknowns = p[0], .iterations = p[1]}); }}},
      {"jacobi",
       {{{"d", {}}, {"n", {}}, {"t", {}}},
        [](P p) {
          return jacobi_operation(
              {.dimensions = static_cast<int>(std::min<Words>(p[0], 99)), .points_per_dimension = p[1], .steps = p[2]});
        }}},
  };
  return all;
}

[[noreturn]] void refuse(const std::string& place, std::string message, std::string hint) {
  throw core::ConfigurationError("bound." + place, std::move(message), std::move(hint));
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& known) {
  const std::string near = core::nearest(word, known);
  if (!near.empty()) return "did you mean '" + near + "'?";
  std::string list;
  for (const std::string& name : known) list += (list.empty() ? "one of " : ", ") + name;
  return list;
}

// Split "ik,kj->ij".
struct Einsum {
  std::string left, right, result;
};

Einsum parse_einsum(const std::string& expression) {
  std::string text;
  std::copy_if(expression.begin(), expression.end(), std::back_inserter(text),
               [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; });
  const std::size_t comma = text.find(','), arrow = text.find("->");
  const std::string form = "an einsum of two operands is written like 'ik,kj->ij'";
  if (comma == std::string::npos || arrow == std::string::npos || comma > arrow ||
      text.find(',', comma + 1) != std::string::npos)
    refuse("einsum", "'" + expression + "' is no einsum of two operands", form);
  Einsum einsum{.left = text.substr(0, comma),
                .right = text.substr(comma + 1, arrow - comma - 1),
                .result = text.substr(arrow + 2)};
  for (const std::string* part : {&einsum.left, &einsum.right, &einsum.result}) {
    for (char c : *part) {
      if (std::isalpha(static_cast<unsigned char>(c)) == 0)
        refuse("einsum", "'" + std::string(1, c) + "' in '" + expression + "' is no letter", form);
      if (std::count(part->begin(), part->end(), c) > 1)
        refuse("einsum", "'" + std::string(1, c) + "' repeats within '" + *part + "'", "diagonals are not supported");
    }
  }
  if (einsum.left.empty() || einsum.right.empty()) refuse("einsum", "'" + expression + "' has an empty operand", form);
  for (char c : einsum.result) {
    if ((einsum.left + einsum.right).find(c) == std::string::npos)
      refuse("einsum", "'" + std::string(1, c) + "' of the result stands in no operand", form);
  }
  return einsum;
}

}  // namespace

std::vector<OperatorKind> operator_kinds() {
  std::vector<OperatorKind> kinds;
  for (const auto& [name, recipe] : recipes()) kinds.push_back({.name = name, .keys = recipe.keys});
  return kinds;
}

Operation make_operation(const std::string& kind, const SizeMap& sizes) {
  const auto found = recipes().find(kind);
  if (found == recipes().end()) {
    std::vector<std::string> names;
    for (const auto& entry : recipes()) names.push_back(entry.first);
    refuse("operator", "unknown operator '" + kind + "'", did_you_mean(kind, names));
  }
  std::vector<std::string> names;
  std::vector<Words> values;
  for (const OperatorKey& key : found->second.keys) {
    names.push_back(key.name);
    const auto given = sizes.find(key.name);
    if (given == sizes.end() && !key.fallback)
      refuse(kind, "size " + key.name + " is missing", "give " + key.name + "=...");
    values.push_back(given == sizes.end() ? *key.fallback : given->second);
  }
  for (const auto& [name, value] : sizes) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      refuse(kind, "unknown size '" + name + "'", did_you_mean(name, names));
    if (value < 0 || (value == 0 && name != "causal"))
      refuse(kind, name + " = " + std::to_string(value), "sizes are at least 1");
  }
  Operation operation = found->second.make(values);
  operation.name = kind;
  return operation;
}

NamedText split_name(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(k_between), text.size());
  const std::size_t end = std::min(text.find_first_of(k_between, begin), text.size());
  return {.name = text.substr(begin, end - begin), .rest = text.substr(end)};
}

std::map<std::string, std::string> parse_values(const std::string& text) {
  std::map<std::string, std::string> values;
  auto last = values.end();
  for (NamedText next = split_name(text); !next.name.empty(); next = split_name(next.rest)) {
    const std::string& word = next.name;
    const std::size_t equals = word.find('=');
    if (equals == 0 || (equals == std::string::npos && last == values.end()))
      refuse("sizes", "'" + word + "' is no size", "write name=number");
    if (equals == std::string::npos) {
      last->second += " " + word;
      continue;
    }
    const auto [place, fresh] = values.emplace(word.substr(0, equals), word.substr(equals + 1));
    if (!fresh) refuse("sizes", "'" + place->first + "' is given twice", "give it once");
    last = place;
  }
  return values;
}

std::optional<Words> whole_number(const std::string& text) {
  Words value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, status] = std::from_chars(text.data(), end, value);
  return status == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

SizeMap parse_sizes(const std::string& text) {
  SizeMap sizes;
  for (const auto& [name, value] : parse_values(text)) {
    const auto number = whole_number(value);
    if (!number) refuse("sizes", "'" + value + "' is no whole number", "write name=number");
    sizes.emplace(name, *number);
  }
  return sizes;
}

Operation parse_operation(const std::string& text) {
  const auto [kind, sizes] = split_name(text);
  if (kind.empty()) refuse("operator", "no operator given", "for example 'matmul m=1024 n=1024 k=1024'");
  return make_operation(kind, parse_sizes(sizes));
}

Operation einsum_operation(const std::string& expression, const SizeMap& sizes) {
  const Einsum einsum = parse_einsum(expression);
  std::string letters;
  for (char c : einsum.left + einsum.right) {
    if (letters.find(c) == std::string::npos) letters += c;
  }
  if (letters.size() > loopnest::k_max_dims)
    refuse("einsum", std::to_string(letters.size()) + " different letters",
           "at most " + std::to_string(loopnest::k_max_dims) + " loops are supported");
  Contraction contraction;
  contraction.name = expression;
  Words points = 4;
  for (char c : letters) {
    const auto size = sizes.find(std::string(1, c));
    if (size == sizes.end())
      refuse("einsum", "the size of '" + std::string(1, c) + "' is missing",
             "give " + std::string(1, c) + "=... among the sizes");
    points = product({points, size->second});
    contraction.domain.add(std::string(1, c), loopnest::Extent::of(size->second));
  }
  for (const auto& [name, value] : sizes) {
    if (name.size() != 1 || letters.find(name) == std::string::npos)
      refuse("einsum", "size '" + name + "' stands for no letter of '" + expression + "'", "remove it");
  }
  const auto index = [&](const std::string& part) {
    loopnest::Projection projection;
    for (char c : part) projection.push_back(loopnest::Affine::of(static_cast<loopnest::DimId>(letters.find(c))));
    return projection;
  };
  contraction.accesses = {{.array = "left", .index = index(einsum.left), .role = Role::read},
                          {.array = "right", .index = index(einsum.right), .role = Role::read},
                          {.array = "result", .index = index(einsum.result), .role = Role::produce}};
  Operation operation;
  operation.name = expression;
  operation.inputs = footprint(contraction, contraction.accesses[0]) + footprint(contraction, contraction.accesses[1]);
  operation.outputs = footprint(contraction, contraction.accesses[2]);
  // A matrix product in disguise has its schedule: loops of both operands and the result are a batch.
  MatmulSizes sizes_as_product{.m = 1, .n = 1, .k = 1, .batch = 1};
  for (char c : letters) {
    const bool left = einsum.left.find(c) != std::string::npos, right = einsum.right.find(c) != std::string::npos,
               result = einsum.result.find(c) != std::string::npos;
    Words& size = left && right ? (result ? sizes_as_product.batch : sizes_as_product.k)
                                : (left ? sizes_as_product.m : sizes_as_product.n);
    if (!result && !(left && right)) sizes_as_product.batch = -1;  // a sum over one operand alone
    size *= sizes.at(std::string(1, c));
  }
  if (sizes_as_product.batch > 0) operation.schedules = matmul_operation(sizes_as_product).schedules;
  const Words products = points / 4;
  operation.flops = 2 * products;
  operation.max_operands = products > operation.outputs ? 3 : 2;
  operation.graph = [contraction] { return contraction_graph(contraction, program_order(contraction)); };
  operation.contractions = {std::move(contraction)};
  return operation;
}

}  // namespace cairn::pebble
