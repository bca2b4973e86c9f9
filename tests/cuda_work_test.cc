// What kernels say of their own work, against the counters of a GPU.
#include <gtest/gtest.h>

#include <iostream>

#include "report/work_sheet.h"

namespace headroom::testing {
namespace {

class CudaWork : public ::testing::TestWithParam<CaseSize> {};

// All kernels in one table: each row that is off is an account to mend.
TEST_P(CudaWork, EveryKernelDoesWhatItSays) {
  if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
  const auto device = open_device("cuda");
  const WorkCheck check =
      check_work(*device, work_cases(device->capabilities(), {}, GetParam()), [](const std::string&) {});
  if (!check.why_not.empty()) GTEST_SKIP() << check.why_not;
  const std::size_t off = kernels_off(check);
  if (off > 0)
    std::cout << work_sheet(check, WorkRows::off).text() << "\n" << work_notes(check);
  EXPECT_EQ(off, 0u);
  EXPECT_TRUE(check.left_out.empty());
}

INSTANTIATE_TEST_SUITE_P(Cases, CudaWork, ::testing::Values(CaseSize::any, CaseSize::small),
                         [](const auto& test) { return test.param == CaseSize::any ? "Large" : "Small"; });

}  // namespace
}  // namespace headroom::testing
