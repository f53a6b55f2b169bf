//! Workflow commands of GitHub Actions: a line for each finding, which becomes an annotation of its file.

use crate::terminal::printable;
use crate::{Finding, Report, Severity, words};
use bumpwright_text::between;

pub(crate) fn render(report: &Report) -> String {
    let lines = report.open().map(command);
    lines
        .chain([report.summary(), String::new()])
        .collect::<Vec<_>>()
        .join("\n")
}

/// `::error file=…,line=…,col=…,title=…::message`.
fn command(finding: &Finding) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let place = finding.place.as_ref().map(|place| {
        let path = property(&place.path);
        format!("file={path},line={},col={},", place.line, place.column)
    });
    let (place, title) = (between("", place, ""), property(finding.rule.id()));
    format!("::{word} {place}title={title}::{}", data(&message(finding)))
}

/// A warning of the program itself, with a line feed.
#[must_use]
pub fn warning(text: &str) -> String {
    format!("::warning title=bumpwright::{}\n", data(text))
}

/// The message, where it was found, and what to do.
fn message(finding: &Finding) -> String {
    let origins = words::origins(finding).map(|origins| format!("in {origins}"));
    let help = finding.help.as_ref().map(|help| format!("help: {help}"));
    let parts = [Some(words::headline(finding)), origins, help];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

/// A text after `::`. The escapes are those of GitHub's toolkit.
fn data(text: &str) -> String {
    let text = printable(text).replace('%', "%25");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// The value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use crate::report::tests::{hostile, report};

    #[test]
    fn a_finding_is_a_command() {
        assert_eq!(
            report().github(),
            "\
::error file=apps/web.yaml,line=7,col=13,title=schema::Deployment web/web: spec.replicas: \"two\" is not an integer\
%0Ain Kustomization flux-system/apps of clusters/a
::warning file=apps/web.yaml,line=30,col=12,title=undefined-variable::Ingress web/web: ${domain} has no value%0Aand no default\
%0Ain Kustomization flux-system/apps of clusters/a
::error file=clusters/base/apps.yaml,line=12,col=5,title=missing-source::Kustomization flux-system/apps: \
GitRepository flux-system/flet is not in the fleet%0Ain Kustomization flux-system/apps of clusters/a, clusters/b\
%0Ahelp: did you mean flux-system/fleet?
::notice title=unknown-source::OCIRepository flux-system/extra was not fetched%0Ain Kustomization flux-system/extra of clusters/b
2 errors, 1 warning, 1 note in 4 Kustomizations
"
        );
    }

    #[test]
    fn a_warning_is_one_line() {
        assert_eq!(
            super::warning("100%\n::error::x"),
            "::warning title=bumpwright::100%25%0A::error::x\n"
        );
    }

    #[test]
    fn hostile_texts_begin_no_command_and_end_no_property() {
        let text = hostile().github();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{lines:#?}");
        let (properties, message) = lines[0][2..].split_once("::").unwrap();
        let (file, rest) = properties.split_once(',').unwrap();
        assert!(file.starts_with("error file=dir with space/\\u{1b}[2J"), "{file}");
        assert!(
            file.contains("%0A%3A%3Aerror file=x%3A%3Ay %250A%2525%2C%3A <"),
            "{file}"
        );
        assert!(file.ends_with("/ü%3A%2C%25.yaml"), "{file}");
        assert_eq!(rest, "line=3,col=4,title=schema");
        assert!(message.contains("::error file=x::y %250A%2525,: <"), "{message}");
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}
