//! Our annotations on automations (CLI.md, *Annotations*). What does not parse closes: the automation is not acted upon.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::gostd;

/// What begins the keys of ours.
pub(super) const PREFIX: &str = "bumpwright.dev/";

/// One of our annotations, by its key without the prefix.
pub(super) fn ours<'a>(annotations: &'a BTreeMap<String, String>, key: &str) -> Option<&'a String> {
    annotations.get(&format!("{PREFIX}{key}"))
}

/// What an automation's annotations ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    /// `dry-run`: show what would be pushed.
    pub(super) dry_run: bool,
    /// `settle`: wait so long after a policy has changed for others to change.
    pub(super) settle: Option<Duration>,
    /// `settle-at-most`: but no longer than this after the first.
    pub(super) settle_at_most: Option<Duration>,
}

/// An annotation that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("annotation {PREFIX}{key}: {} is not {grammar}", gostd::quote(value))]
pub(super) struct InvalidAnnotation {
    pub(super) key: &'static str,
    pub(super) value: String,
    pub(super) grammar: &'static str,
}

impl Annotations {
    /// Reads an object's annotations; those of others are passed over.
    pub(super) fn read(annotations: &BTreeMap<String, String>) -> Result<Self, InvalidAnnotation> {
        let duration = |key: &'static str| {
            let Some(value) = ours(annotations, key) else {
                return Ok(None);
            };
            let parsed = gostd::Duration::parse(value.as_bytes()).ok();
            let nanoseconds = parsed.and_then(|parsed| u64::try_from(parsed.0).ok());
            nanoseconds
                .map(|n| Some(Duration::from_nanos(n)))
                .ok_or(InvalidAnnotation {
                    key,
                    value: value.clone(),
                    grammar: "a duration such as 20s or 5m",
                })
        };
        let dry_run = match ours(annotations, "dry-run").map(String::as_str) {
            None | Some("false") => false,
            Some("true") => true,
            Some(other) => {
                return Err(InvalidAnnotation {
                    key: "dry-run",
                    value: other.to_owned(),
                    grammar: "\"true\" or \"false\"",
                });
            }
        };
        Ok(Self {
            dry_run,
            settle: duration("settle")?,
            settle_at_most: duration("settle-at-most")?,
        })
    }

    /// How long to wait when a policy has changed now, and one had so long ago for the first time since the last run. None
    /// when nothing has to settle.
    pub(super) fn pause(&self, since_first: Duration) -> Option<Duration> {
        let settle = self.settle?;
        Some(match self.settle_at_most {
            Some(most) => settle.min(most.saturating_sub(since_first)),
            None => settle,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// The annotations of an object that has these of ours.
    pub(in super::super) fn of_ours(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| (format!("{PREFIX}{key}"), (*value).to_owned()))
            .collect()
    }

    fn read(pairs: &[(&str, &str)]) -> Result<Annotations, InvalidAnnotation> {
        Annotations::read(&of_ours(pairs))
    }

    #[test]
    fn what_does_not_parse_is_named_with_its_grammar() {
        assert_eq!(read(&[("hold", "x")]).unwrap(), Annotations::default());
        assert!(read(&[("dry-run", "true")]).unwrap().dry_run);
        for (key, value) in [
            ("dry-run", "yes"),
            ("settle", "20"),
            ("settle-at-most", "-1s"),
            ("settle", ""),
        ] {
            let error = read(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("is not"), "{error}");
        }
    }

    #[test]
    fn each_change_starts_the_window_anew_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let settling = read(&[("settle", "20s"), ("settle-at-most", "1m")]).unwrap();
        assert_eq!(settling.pause(seconds(0)), Some(seconds(20)));
        assert_eq!(settling.pause(seconds(50)), Some(seconds(10)));
        assert_eq!(settling.pause(seconds(70)), Some(seconds(0)));
        assert_eq!(read(&[]).unwrap().pause(seconds(0)), None);
    }
}
