#include "cairn/profile/kernel_class.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "cairn/core/assert.h"

namespace cairn::profile {
namespace {

struct ClassRow {
  Group group;
  std::string_view id;
  std::string_view name;
};
constexpr std::array<ClassRow, k_classes> k_rows{{
#define KERNEL_CLASS(id, group, name) ClassRow{Group::group, #id, name},
#include "cairn/profile/kernel_classes.def"
#undef KERNEL_CLASS
}};

struct Pattern {
  KernelClass kind;
  std::string_view text;
};
constexpr Pattern k_kernels[] = {
#define KERNEL(kind, pattern) Pattern{KernelClass::kind, pattern},
#include "cairn/profile/kernel_classes.def"
#undef KERNEL
};
constexpr Pattern k_operators[] = {
#define OPERATOR(kind, pattern) Pattern{KernelClass::kind, pattern},
#include "cairn/profile/kernel_classes.def"
#undef OPERATOR
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

KernelClass first_fit(std::span<const Pattern> patterns, std::string_view text) {
  const auto* const found = std::find_if(patterns.data(), patterns.data() + patterns.size(),
                                         [&](const Pattern& each) { return fits(each.text, text); });
  return found == patterns.data() + patterns.size() ? KernelClass::other : found->kind;
}

}  // namespace

std::string_view name(KernelClass kind) { return k_rows[static_cast<std::size_t>(kind)].name; }
std::string_view id(KernelClass kind) { return k_rows[static_cast<std::size_t>(kind)].id; }
Group group_of(KernelClass kind) { return k_rows[static_cast<std::size_t>(kind)].group; }

std::string_view name(Group group) {
  constexpr std::array<std::string_view, k_groups> k_names{"computation", "communication", "copies"};
  return k_names[static_cast<std::size_t>(group)];
}

KernelClass class_of_kernel(std::string_view kernel, std::string_view collective) {
  const KernelClass kind = first_fit(k_kernels, kernel);
  if (kind != KernelClass::collective || collective.empty()) return kind;
  return first_fit(k_kernels, "nccl:" + std::string(collective));
}

KernelClass class_of_operator(std::string_view operator_name) { return first_fit(k_operators, operator_name); }

// Greedy: after a '*' the first place where the rest fits up to the next '*' leaves the most for what follows.
bool fits(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, from = 0;  // the last '*', and where what it stands for ends
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && lower(pattern[p]) == lower(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cairn::profile
