#pragma once

#include <string_view>

namespace headroom::chart {

// The colours of all charts: Okabe and Ito's palette (2008) in an order that puts black last. Black turns
// light on a dark page. A label has a rim in the page's colour, because lines may pass below it. Every class
// begins with "hc-", so that a page can hold several charts.
inline constexpr std::string_view kChartStyle =
    R"(.hc text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
.hc-page{fill:#ffffff}
.hc-ink,.hc-title,.hc-label{fill:#1c1c1c}
.hc-title{font-weight:600}
.hc-soft{fill:#595959}
.hc-label{paint-order:stroke;stroke:#ffffff;stroke-width:3;stroke-linejoin:round}
.hc-grid{stroke:#d9d9d9}
.hc-minor{stroke:#efefef}
.hc-axis{stroke:#595959}
.hc-error{stroke:#1c1c1c;stroke-width:1.2}
.hc-reference{stroke:#1c1c1c;stroke-width:1.4;stroke-dasharray:6 4}
.hc-mark{stroke:#1c1c1c;stroke-width:.7}
.hc-casing{fill:none;stroke:#1c1c1c;stroke-opacity:.35;stroke-width:3.4}
.hc-missing{fill:none;stroke:#a6a6a6;stroke-dasharray:3 3}
.hc-best{fill:none;stroke:#d55e00;stroke-width:3}
.hc-f0{fill:#e69f00}.hc-f1{fill:#56b4e9}.hc-f2{fill:#009e73}.hc-f3{fill:#f0e442}
.hc-f4{fill:#0072b2}.hc-f5{fill:#d55e00}.hc-f6{fill:#cc79a7}.hc-f7{fill:#1c1c1c}
.hc-l0{stroke:#e69f00}.hc-l1{stroke:#56b4e9}.hc-l2{stroke:#009e73}.hc-l3{stroke:#f0e442}
.hc-l4{stroke:#0072b2}.hc-l5{stroke:#d55e00}.hc-l6{stroke:#cc79a7}.hc-l7{stroke:#1c1c1c}
.hc-l0,.hc-l1,.hc-l2,.hc-l3,.hc-l4,.hc-l5,.hc-l6,.hc-l7{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){
.hc-page{fill:#16181c}
.hc-ink,.hc-title,.hc-label,.hc-f7{fill:#ececec}
.hc-soft{fill:#b3b3b3}
.hc-label{stroke:#16181c}
.hc-grid{stroke:#3c4048}
.hc-minor{stroke:#282b31}
.hc-axis{stroke:#b3b3b3}
.hc-error,.hc-reference,.hc-l7{stroke:#ececec}
.hc-mark,.hc-casing{stroke:#16181c}
.hc-missing{stroke:#6f747d}
}
)";

}  // namespace headroom::chart
