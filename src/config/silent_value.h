// A value that is described to somebody who wants no value of its own: derive, and override what matters.
#pragma once

#include "cairn/config/fields.h"

namespace cairn::config {

class SilentValue : public Value {
 protected:
  void visit_flag(bool&) override {}
  void visit_count(std::int64_t&, const CountRule&) override {}
  void visit_number(double&, const NumberRule&) override {}
  void visit_text(std::string&) override {}
  void visit_quantity(double&, Dimension, const NumberRule&) override {}
  void visit_choice(std::size_t&, const std::vector<std::string_view>&) override {}
  void visit_name(std::string&, const std::vector<std::string>&) override {}
  void visit_object(const std::function<void(Fields&)>&) override {}
  void visit_list(const ListAccess&, const ListRule&) override {}
  void visit_map(const MapAccess&) override {}
  void visit_node(Node&) override {}
};

}  // namespace cairn::config
