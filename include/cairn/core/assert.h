// Broken invariants are bugs: they raise InternalError (exit code 70), never a wrong number.
#pragma once

#include <stdexcept>
#include <string>

namespace cairn::core {

class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_assertion(const char* expression, const char* file, int line);

}  // namespace cairn::core

#if CAIRN_ASSERTIONS
#define CAIRN_ASSERT(expression) \
  (static_cast<bool>(expression) ? void(0) : ::cairn::core::fail_assertion(#expression, __FILE__, __LINE__))
#else
#define CAIRN_ASSERT(expression) void(0)
#endif
