#include "html/picture.h"

#include <utility>

namespace cairn::report::html {

void Picture::begin(double height, std::string_view id, std::string_view name, std::string_view what) {
  add("<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{}\" viewBox=\"0 0 {:.0f} {:.0f}\" font-size=\"{:.0f}\" role=\"",
      id, k_picture_width, height, k_picture_font);
  role_at_ = out_.size();
  add("\" aria-labelledby=\"{0}-title\" aria-describedby=\"{0}-desc\">\n<title id=\"{0}-title\">{1}</title>\n"
      "<desc id=\"{0}-desc\">{2}</desc>\n",
      id, xml_text(name), xml_text(what));
}

void Picture::begin_point(std::string_view row, std::string_view name) {
  leads_ = true;
  add("<a class=\"point\" href=\"#{}\" aria-label=\"{}\">", row, xml_text(name));
}

// What is inside an image is hidden from those who do not see it: one with links is a group.
std::string Picture::end() {
  out_.insert(role_at_, leads_ ? "group" : "img");
  return std::move(out_) + "</svg>\n";
}

void Picture::line(double x1, double y1, double x2, double y2, std::string_view style) {
  add("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

}  // namespace cairn::report::html
