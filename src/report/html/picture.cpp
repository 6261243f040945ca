#include "html/picture.h"

namespace cairn::report::html {

void Picture::begin(double height, std::string_view id, std::string_view name, std::string_view what) {
  add("<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"{2}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" font-size=\"{3:.0f}\" "
      "role=\"group\" aria-labelledby=\"{2}-title\" aria-describedby=\"{2}-desc\">\n<title "
      "id=\"{2}-title\">{4}</title>\n"
      "<desc id=\"{2}-desc\">{5}</desc>\n",
      k_picture_width, height, id, k_picture_font, xml_text(name), xml_text(what));
}

std::string Picture::end() { return std::move(out_) + "</svg>\n"; }

void Picture::line(double x1, double y1, double x2, double y2, std::string_view style) {
  add("<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" {}/>\n", x1, y1, x2, y2, style);
}

}  // namespace cairn::report::html
