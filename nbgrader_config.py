"""nbgrader's configuration: nbgrader stays the system of record, the grader judges."""

from pathlib import Path

c = get_config()

ROOT = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "preference-optimization-course"
c.CourseDirectory.root = str(ROOT)
c.CourseDirectory.source_directory = "build/source"
c.CourseDirectory.release_directory = "notebooks"
c.CourseDirectory.submitted_directory = "submitted"
c.CourseDirectory.autograded_directory = "autograded"
c.CourseDirectory.feedback_directory = "feedback"
c.CourseDirectory.db_url = f"sqlite:///{ROOT}/gradebook.db"

# What an exercise looks like before it is written. `check` reports this exception as "not attempted".
c.ClearSolutions.code_stub = {"python": 'raise NotImplementedError("not attempted yet: replace this line")'}

# Repair what editors break before nbgrader looks at it; grade in the sandbox instead of executing the notebook.
c.Autograde.sanitize_preprocessors = [
    "grader.gradebook.Repair",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.DeduplicateIds",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.OverwriteCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "grader.gradebook.Grade",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# One feedback page for nbgrader and for `grader grade`: self-contained, everything escaped.
c.GenerateFeedback.exporter_class = "grader.gradebook.FeedbackExporter"

# Learner markdown and outputs are untrusted where formgrader shows them. Its template prints markdown as it comes
# whatever `sanitize_html` says, and with that our reports lose their tables: so the notebook is cleaned before it.
c.HTMLExporter.preprocessors = ["nbconvert.preprocessors.sanitize.SanitizeHTML"]
c.FeedbackExporter.preprocessors = []  # it shows no learner markup at all
c.SanitizeHTML.tags = [
    "a", "b", "blockquote", "br", "code", "dd", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6",
    "hr", "i", "li", "ol", "p", "pre", "s", "span", "strong", "sub", "summary", "sup", "table", "tbody", "td", "th",
    "thead", "tr", "ul",
]  # fmt: skip
c.SanitizeHTML.attributes = {"*": ["style", "class"], "a": ["href"]}
c.SanitizeHTML.styles = [
    "border-collapse", "border-left", "color", "font-family", "font-size", "line-height", "margin", "max-width",
    "opacity", "padding", "text-align", "vertical-align", "white-space", "width",
]  # fmt: skip
c.SanitizeHTML.safe_output_keys = {"text/plain"}
