#pragma once

// What every page of the program must satisfy, checked on the page that is open. Each function returns what
// is wrong, in words.

#include <string>
#include <vector>

#include "webdriver.h"

namespace headroom::testing {

// Visible texts with less contrast than WCAG 2.1 demands at level AA: 4.5, or 3 if the text is large.
std::vector<std::string> faint_texts(Browser& browser);

// Elements that stick out of the page to the right, if that lets the whole page scroll sideways.
std::vector<std::string> sideways_overflow(Browser& browser);

// Visible links, buttons and fields that the key Tab does not reach, or that look the same with the focus.
std::vector<std::string> unreached_by_tab(Browser& browser);

}  // namespace headroom::testing
