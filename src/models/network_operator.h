// One operator of a network while it is put together: its dimensions first, then its accesses.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "network_builder.h"

namespace cairn::models {

class NetworkOperator {
 public:
  NetworkOperator(NetworkBuilder& network, const std::string& name, ir::Kind kind, const std::string& variant,
                  double flops)
      : network_(network) {
    op_.name = name;
    op_.kind = kind;
    op_.variant = variant;
    op_.flops_per_point = flops;
  }

  // A name that the operator has already gets a number, "n2".
  loopnest::DimId dim(const std::string& name, std::int64_t size) {
    const auto has = [this](const std::string& taken) { return op_.domain.find(taken) >= 0; };
    return op_.domain.add(distinct_name(name, has), loopnest::Extent::of(size));
  }
  static loopnest::Affine constant(std::int64_t value) { return {.terms = {}, .offset = value}; }
  // Each by itself, in this order.
  loopnest::Projection dims(const NamedSizes& sizes) {
    loopnest::Projection all;
    for (const NamedSize& each : sizes) all.push_back(loopnest::Affine::of(dim(each.name, each.size)));
    return all;
  }
  // One value of it is visited for each combination of `by`.
  loopnest::DimId selected(const std::string& name, std::int64_t size, std::initializer_list<loopnest::DimId> by) {
    const loopnest::DimId added = op_.domain.add(name, loopnest::Extent::of(size), 1);
    op_.domain.choose(added, by);
    return added;
  }

  NetworkOperator& read(ir::TensorId tensor, const loopnest::Projection& at) {
    const bool wanted = network_.wants_gradient(tensor);
    return access(tensor, at, ir::Mode::read, wanted ? ir::InputGradient::computed : ir::InputGradient::none);
  }
  NetworkOperator& pass(ir::TensorId tensor, const loopnest::Projection& at) {
    const bool wanted = network_.wants_gradient(tensor);
    return access(tensor, at, ir::Mode::read, wanted ? ir::InputGradient::passed : ir::InputGradient::none);
  }
  NetworkOperator& addend(ir::TensorId parameter, const loopnest::Projection& at) {
    read(parameter, at);
    op_.accesses.back().addend = true;
    return *this;
  }
  NetworkOperator& write(ir::TensorId tensor, const loopnest::Projection& at) {
    return access(tensor, at, ir::Mode::write, ir::InputGradient::none);
  }
  NetworkOperator& merge(ir::TensorId tensor, const loopnest::Projection& at, ir::Monoid monoid = ir::Monoid::sum) {
    access(tensor, at, ir::Mode::accumulate, ir::InputGradient::none);
    op_.accesses.back().monoid = monoid;
    return *this;
  }
  // What its derivative reads beside the gradient of the result, and its FLOPs per point. Of a product neither is stated.
  NetworkOperator& backward(double flops, std::initializer_list<ir::TensorId> reads) {
    op_.backward_flops_per_point = flops;
    op_.backward_reads.assign(reads.begin(), reads.end());
    return *this;
  }
  void append() { network_.add(std::move(op_)); }

 private:
  NetworkOperator& access(ir::TensorId tensor, const loopnest::Projection& at, ir::Mode mode,
                          ir::InputGradient gradient) {
    ir::Access& added = op_.accesses.emplace_back();
    added.tensor = tensor;
    added.projection = at;
    added.mode = mode;
    added.gradient = gradient;
    return *this;
  }

  NetworkBuilder& network_;
  ir::Operator op_;
};

// The first list, then the second.
template <class List>
List appended(List first, const List& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}
inline NamedSizes appended(const NamedSizes& first, const NamedSizes& second) {
  return appended<NamedSizes>(first, second);
}

// A list of dimensions or of their indices without the one at a position, or with one more there.
template <class List>
List without_dim(List list, std::size_t at) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
  return list;
}
template <class List>
List with_dim(List list, std::size_t at, const typename List::value_type& added) {
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), added);
  return list;
}

}  // namespace cairn::models
