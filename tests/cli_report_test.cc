// headroom report and --report: pages of real runs, and the records in them.
#include "base/json.h"
#include "report/record.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

class CliReport : public ProgramTest {
 protected:
  void train(const std::string& batch, const std::vector<std::string>& more) const {
    std::vector<std::string> words = {"train", "mlp:hidden=16", "--train-size", "2048", "--test-size",
                                      "64",    "--batch",       batch};
    words.insert(words.end(), more.begin(), more.end());
    succeed(words);
  }
  void expect_sections(const std::string& name, const std::vector<const char*>& ids) const {
    const std::string page = read_file(file(name));
    for (const char* id : ids)
      EXPECT_NE(page.find(fmt::format("<section id=\"{}\"", id)), std::string::npos) << name << ": " << id;
    EXPECT_TRUE(page.ends_with("</html>\n")) << name;
  }
};

TEST_F(CliReport, ATrainingHasEverySectionOfATraining) {
  train("16", {"--record", "run.json", "--report", "run.html"});
  expect_sections("run.html", {"summary", "curves", "step", "layers", "roofline", "timeline", "ranges",
                               "prediction", "memory", "utilisation", "origin"});
  const Outcome outcome = succeed({"report", "run.json"});
  expect_sections("run.html", {"summary", "curves", "layers", "roofline", "prediction", "memory", "origin"});
  for (const char* part : {"test accuracy", "of roofline", "hidden", "###", "The page is run.html"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST_F(CliReport, ThePageGivesItsRecordBack) {
  train("16", {"--record", "run.json"});
  succeed({"report", "run.json", "-o", "page.html"});
  const Json said = succeed_json({"report", "page.html", "--extract", "again.json", "--json"});
  EXPECT_EQ(said["records"], Json({"again.json"}));
  EXPECT_EQ(Json::parse(read_file(file("again.json"))), to_json(read_record(file("run.json"))));
  const RunRecord record = read_record(file("again.json"));
  EXPECT_FALSE(record.training->losses.empty());
  EXPECT_EQ(record.training->epoch_end_s.size(), record.training->epochs.size());
}

TEST_F(CliReport, ItsInputIsNotOverwritten) {
  train("16", {"--record", "run.json"});
  succeed({"report", "run.json", "-o", "page.html"});
  expect_refused({"report", "run.json", "-o", file("run.json").string()}, {"the page's own name", "--out"});
  expect_refused({"report", "page.html", "--extract", "./page.html"},
                 {"over the page itself", "another name"});
  expect_refused({"report", "page.html", "--extract", file("page.html").string()}, {"over the page itself"});
  EXPECT_EQ(read_record(file("run.json")).verb, "train");
  EXPECT_TRUE(read_file(file("page.html")).ends_with("</html>\n"));
}

TEST_F(CliReport, TwoRunsStandSideBySide) {
  train("16", {"--record", "a.json"});
  train("32", {"--record", "b.json"});
  succeed({"report", "a.json", "b.json", "-o", "both.html"});
  expect_sections("both.html", {"comparison", "run1-summary", "run2-summary", "run2-layers"});
  const std::string page = read_file(file("both.html"));
  EXPECT_NE(page.find("batch: 16 before, 32 after"), std::string::npos);
  succeed({"report", "both.html", "--extract", "x.json"});
  EXPECT_EQ(read_record(file("x-2.json")).plan->batch, 32);
}

TEST_F(CliReport, AProfileHasATimeline) {
  succeed({"profile", "mlp:hidden=16", "--batch", "8", "-o", "p", "--report", "direct.html"});
  const Json said = succeed_json({"report", "p", "--json"});
  EXPECT_EQ(said["page"], "p/report.html");
  for (const char* name : {"p/report.html", "direct.html"})
    expect_sections(name, {"step", "layers", "timeline", "ranges"});
}

TEST_F(CliReport, OtherVerbsWritePagesToo) {
  train("16", {"--save", "w.safetensors"});
  succeed({"eval", "mlp:hidden=16", "--weights", "w.safetensors", "--data", "glyphs", "--test-size", "64",
           "--report", "eval.html"});
  expect_sections("eval.html", {"summary", "layers", "origin"});
  succeed({"bench", "gemm", "--device", "cpu", "--size", "64", "--seconds", "0.01", "--report", "gemm.html"});
  expect_sections("gemm.html", {"summary", "tables", "origin"});
  succeed({"sweep", "mlp", "--data", "glyphs", "--train-size", "128", "--test-size", "64", "--epochs", "1",
           "--hidden", "4,8", "--report", "sweep.html"});
  expect_sections("sweep.html", {"summary", "tables", "origin"});
  EXPECT_EQ(read_file(file("sweep.html")).find("<section id=\"layers\""), std::string::npos)
      << "the page of a single training";
  succeed({"tune", "--list", "--report", "tune.html"});
  expect_sections("tune.html", {"summary", "tables", "origin"});
  put("rows.csv", "device,dtype,m,n,k,us\n");
  expect_refused({"calibrate", "--table", "rows.csv", "--machine", "h200", "--report", "none/c.html"},
                 {"none"});
  succeed({"watch", "--for", "400ms", "--report", "watch.html"});
  expect_sections("watch.html", {"utilisation", "origin"});
}

}  // namespace
}  // namespace headroom::testing
