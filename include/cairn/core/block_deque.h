// Values that stay where they are, many close together.
#pragma once

#include <cstddef>

#include <boost/container/deque.hpp>

namespace cairn::core {

// Grows at its end; addresses stay valid. Evaluation looks at dozens of such values for every plan, wherever they lie:
// blocks of 64 of them, where std::deque takes 512 bytes.
inline constexpr std::size_t k_block_values = 64;
template <class Value>
using BlockDeque = boost::container::deque<
    Value, void, typename boost::container::deque_options<boost::container::block_size<k_block_values>>::type>;

}  // namespace cairn::core
