//! Text for people, with colours where the terminal has them. Each finding begins a line; what belongs
//! to it is indented.

use anstyle::{AnsiColor, Style};

use crate::terminal::{inline, printable};
use crate::{Finding, Report, Severity, words};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Stands before each line that belongs to the one above.
const INDENT: &str = "    ";

pub(crate) fn render(report: &Report) -> String {
    let mut out = String::new();
    for finding in report.open() {
        if let Some(place) = &finding.place {
            out.push_str(&format!("{BOLD}{}{BOLD:#}: ", inline(&words::place(place))));
        }
        let (style, word) = (style(finding.severity), finding.severity.as_str());
        out.push_str(&format!("{style}{word}[{}]{style:#}: ", finding.rule));
        out.push_str(&format!("{}\n", indented(&words::headline(finding))));
        out.push_str(&below(finding));
    }
    if report.open().next().is_some() {
        out.push('\n');
    }
    out.push_str(&format!("{}\n", report.summary()));
    out
}

/// The lines below a finding: where it was found, and what to do.
fn below(finding: &Finding) -> String {
    let origins = words::origins(finding).map(|origins| format!("{INDENT}{DIM}in {}{DIM:#}\n", inline(&origins)));
    let help = finding.help.as_deref();
    let help = help.map(|help| format!("{INDENT}{DIM}help:{DIM:#} {}\n", indented(help)));
    [origins, help].into_iter().flatten().collect()
}

/// Text whose further lines are below its first, behind a bar: without one, a line that begins with `::` would be a
/// workflow command in the log of a GitHub Action, which ignores blanks before it.
fn indented(text: &str) -> String {
    let text = printable(text.trim_end());
    text.replace('\n', &format!("\n{INDENT}| "))
}

const fn style(severity: Severity) -> Style {
    match severity {
        Severity::Error => ERROR,
        Severity::Warning => WARNING,
        Severity::Note => NOTE,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use crate::Report;
    use crate::report::tests::{hostile, report};

    /// The text as a file gets it.
    fn plain(report: &Report) -> String {
        let mut out = report.text();
        while let Some(start) = out.find('\u{1b}') {
            let end = out[start..].find('m').unwrap();
            out.replace_range(start..=start + end, "");
        }
        out
    }

    #[test]
    fn a_finding_is_a_line_and_what_belongs_to_it() {
        assert_eq!(
            plain(&report()),
            "\
apps/web.yaml:7:13: error[schema]: Deployment web/web: spec.replicas: \"two\" is not an integer
    in Kustomization flux-system/apps of clusters/a
apps/web.yaml:30:12: warning[undefined-variable]: Ingress web/web: ${domain} has no value
    | and no default
    in Kustomization flux-system/apps of clusters/a
clusters/base/apps.yaml:12:5: error[missing-source]: Kustomization flux-system/apps: GitRepository flux-system/flet is not in the fleet
    in Kustomization flux-system/apps of clusters/a, clusters/b
    help: did you mean flux-system/fleet?
note[unknown-source]: OCIRepository flux-system/extra was not fetched
    in Kustomization flux-system/extra of clusters/b

2 errors, 1 warning, 1 note in 4 Kustomizations
"
        );
        assert_eq!(plain(&Report::new(vec![], [], "")), "no findings in 0 Kustomizations\n");
    }

    #[test]
    fn severities_have_colours() {
        let text = report().text();
        assert!(text.contains("\u{1b}[1m\u{1b}[31merror[schema]\u{1b}[0m: "), "{text:?}");
        assert!(text.contains("\u{1b}[1m\u{1b}[33mwarning["), "{text:?}");
    }

    #[test]
    fn hostile_texts_begin_no_line_and_move_no_cursor() {
        let text = plain(&hostile());
        let is_ours = |line: &&str| !line.is_empty() && !line.starts_with("    ");
        let lines: Vec<&str> = text.lines().filter(is_ours).collect();
        assert_eq!(lines.len(), 3, "{lines:#?}");
        assert!(
            lines[0].starts_with("dir with space/\\u{1b}[2J\\u{9b}31m\\r\\n::error"),
            "{}",
            lines[0]
        );
        assert!(lines[1].starts_with("error[limit]: xxx"), "{}", lines[1]);
        assert!(
            text.contains("\n    | ::error file=") && !text.lines().any(|line| line.trim_start().starts_with("::")),
            "{text}"
        );
        let moves = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!text.contains(moves), "{text:?}");
    }
}
