//! Findings, and how they are printed.

use serde::Serialize;
use serde_json::json;

use crate::cli::flag_values::Format;
use crate::cli::words;

/// How well something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Ok,
    Warning,
    Failed,
    Unknown,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    /// What was checked: a stable word for programs.
    pub check: &'static str,
    pub status: Verdict,
    pub message: String,
}

/// All findings, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, Verdict::Ok, message.into());
    }

    pub(super) fn warn(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, Verdict::Warning, message.into());
    }

    pub(super) fn fail(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, Verdict::Failed, message.into());
    }

    pub(super) fn unknown(&mut self, check: &'static str, message: impl Into<String>) {
        self.add(check, Verdict::Unknown, message.into());
    }

    fn add(&mut self, check: &'static str, status: Verdict, message: String) {
        self.0.push(Finding { check, status, message });
    }

    fn any(&self, status: Verdict) -> bool {
        self.0.iter().any(|one| one.status == status)
    }

    pub(super) fn code(&self) -> u8 {
        match (self.any(Verdict::Unknown), self.any(Verdict::Failed)) {
            (true, _) => 2,
            (false, true) => 1,
            (false, false) => 0,
        }
    }

    pub(super) fn shown(&self, format: Format) -> String {
        match format {
            Format::Text => self.0.iter().map(Finding::line).collect(),
            Format::Json => {
                let document = json!({"version": 1, "ok": self.code() == 0, "checks": self.0});
                format!("{}\n", words::json(&format!("{document:#}")))
            }
        }
    }
}

impl Finding {
    fn line(&self) -> String {
        let sign = match self.status {
            Verdict::Ok => '✔',
            Verdict::Warning => '!',
            Verdict::Failed => '✗',
            Verdict::Unknown => '?',
        };
        format!("{sign} {}\n", words::inline(&self.message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_found_out_outweighs_what_is_not_well() {
        let mut findings = Findings::default();
        findings.ok("server", "a");
        findings.warn("leases", "b");
        assert_eq!(findings.code(), 0);
        findings.fail("rights", "c\nd");
        assert_eq!(findings.code(), 1);
        findings.unknown("rights", "e");
        assert_eq!(findings.code(), 2);
        assert_eq!(findings.shown(Format::Text), "✔ a\n! b\n✗ c\\nd\n? e\n");
    }
}
