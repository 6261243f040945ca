// Classes of what a device does, so that measured kernels and predicted ones can be compared: the table is
// kernel_classes.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cairn::profile {

enum class KernelClass : std::uint8_t {
#define KERNEL_CLASS(id, group, name) id,
#include "cairn/profile/kernel_classes.def"
#undef KERNEL_CLASS
};
enum class Group : std::uint8_t { computation, communication, copy };

inline constexpr std::size_t k_classes = static_cast<std::size_t>(KernelClass::host_copy) + 1;
inline constexpr std::size_t k_groups = 3;

std::string_view name(KernelClass kind);  // "matrix products"
std::string_view id(KernelClass kind);    // "matmul", as documents write it
std::string_view name(Group group);
Group group_of(KernelClass kind);

// Of a kernel by its name as the profiler writes it, demangled or not. `collective`: what the trace says of an NCCL
// kernel beside its name; empty: nothing.
KernelClass class_of_kernel(std::string_view kernel, std::string_view collective = {});

// Of a predicted operator that is no contraction and no part of the parameter update; `other`: its name fits nothing.
KernelClass class_of_operator(std::string_view operator_name);

// Whether `text` fits `pattern`: '*' stands for any text, letters of either case are one.
bool fits(std::string_view pattern, std::string_view text);

}  // namespace cairn::profile
