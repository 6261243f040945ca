// Pages as XML: whether they are well-formed, and what their elements are.
#pragma once

#include <cctype>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace cairn::report_tests {

struct XmlElement {
  std::string name;
  std::map<std::string, std::string> attributes;
  std::string text;  // its own and that of the elements inside, entities resolved
};

// Elements in the order of their beginnings. Throws std::runtime_error, with what is wrong, where the text is no
// well-formed XML (1.0, fifth edition) of elements, attributes in double quotes and the five entities.
class XmlPage {
 public:
  explicit XmlPage(std::string_view text) : text_(text) {
    constexpr std::string_view k_doctype = "<!DOCTYPE html>\n";
    if (!text_.starts_with(k_doctype)) fail("no doctype");
    at_ = k_doctype.size();
    while (at_ < text_.size()) text_[at_] == '<' ? tag() : character();
    if (!open_.empty()) fail("not closed: " + elements_[open_.back()].name);
  }

  const std::vector<XmlElement>& elements() const { return elements_; }
  std::vector<const XmlElement*> with(const std::string& attribute) const {
    std::vector<const XmlElement*> found;
    for (const XmlElement& each : elements_)
      if (each.attributes.contains(attribute)) found.push_back(&each);
    return found;
  }
  const XmlElement& by_id(const std::string& id) const {
    for (const XmlElement& each : elements_)
      if (const auto named = each.attributes.find("id"); named != each.attributes.end() && named->second == id)
        return each;
    throw std::runtime_error("no element " + id);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(what + " at: " + std::string(text_.substr(at_, 80)));
  }
  bool eat(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  std::string name() {
    const std::size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-'))
      ++at_;
    if (at_ == from) fail("no name");
    return std::string(text_.substr(from, at_ - from));
  }
  // One character of text or of a value.
  char read() {
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n') fail("a control character");
    if (c != '&') {
      ++at_;
      return c;
    }
    for (const auto& [entity, meant] : std::map<std::string_view, char>{
             {"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}})
      if (eat(entity)) return meant;
    fail("no entity");
  }
  void character() {
    const bool blank = text_[at_] == '\n' || text_[at_] == ' ';
    const char c = read();
    if (open_.empty() && !blank) fail("text outside");
    for (const std::size_t each : open_) elements_[each].text += c;
  }
  void tag() {
    if (eat("</")) {
      if (open_.empty() || name() != elements_[open_.back()].name) fail("closes another");
      if (!eat(">")) fail("no end of tag");
      open_.pop_back();
      return;
    }
    eat("<");
    XmlElement element{.name = name(), .attributes = {}, .text = {}};
    while (true) {
      const std::size_t before = at_;
      blanks();
      if (eat("/>")) {
        elements_.push_back(element);
        return;
      }
      if (eat(">")) break;
      if (before == at_) fail("no blank before an attribute");
      const std::string attribute = name();
      if (!eat("=\"")) fail("no value");
      std::string value;
      while (at_ < text_.size() && text_[at_] != '"') {
        if (text_[at_] == '<') fail("a bare < in a value");
        value += read();
      }
      if (!eat("\"")) fail("no end of value");
      if (!element.attributes.emplace(attribute, value).second) fail("twice: " + attribute);
    }
    open_.push_back(elements_.size());
    elements_.push_back(element);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<XmlElement> elements_;
  std::vector<std::size_t> open_;
};

}  // namespace cairn::report_tests
