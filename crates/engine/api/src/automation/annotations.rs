//! Our annotations on automations (docs/cli.md, *Annotations*). They fail closed: an automation with an invalid one
//! is not acted upon.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::object::annotations::{check_annotation_keys, ours};
use bumpwright_edit::Formats;
use bumpwright_gostd as gostd;
use bumpwright_policy::{InvalidAnnotation, Windows, read_windows};

/// Settings from an automation's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutomationAnnotations {
    /// `dry-run`: show what would be pushed.
    pub dry_run: bool,
    /// `settle`: how long to wait for further changes after a policy has changed.
    pub settle: Option<Duration>,
    /// `settle-at-most`: the longest wait after the first change.
    pub settle_at_most: Option<Duration>,
    /// `follow` and what implies it: none when pushed commits are not followed.
    pub follow: Option<Follow>,
    /// `verify`: what has to succeed before the push.
    pub verify: VerifyLevel,
    /// `verify-timeout`: the time for that; a minute when absent.
    pub verify_timeout: Option<Duration>,
    /// `verify-on-timeout: push`: push what could not be verified, for lack of time or of an API server.
    pub push_on_timeout: bool,
    /// `window`: when it pushes; always without.
    pub windows: Option<Windows>,
    /// `respect-reverts`: how many commits are searched for reverts.
    pub respect_reverts: Option<u32>,
    /// `release-notes`: the pull request says what the releases of new images are.
    pub release_notes: bool,
    /// `formats`: those beside YAML that are edited.
    pub formats: Formats,
    /// `rules`: the ConfigMap with rules, in the namespace of the automation.
    pub rules: Option<String>,
}

/// How many commits are searched for reverts when no number is given.
const REVERTS_AMONG: u32 = 500;

/// The most that can be given.
const REVERTS_AMONG_AT_MOST: u32 = 10_000;

/// How pushed commits are followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Follow {
    pub on_failure: OnFailure,
    pub failure_after: Duration,
    /// `revert: bisect`: only the images of workloads that are not healthy.
    pub bisect: bool,
    /// `revert-message`
    pub message: Option<String>,
}

/// What is done about a Kustomization that fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum OnFailure {
    #[default]
    Report,
    /// The images are not written again.
    Hold,
    /// Nor do they stay.
    Revert,
}

/// The default of `failure-after`.
const FAILURE_AFTER: Duration = Duration::from_secs(600);

/// What has to succeed before a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerifyLevel {
    #[default]
    None,
    Build,
    /// The builds, and dry runs of what changes at the API server.
    Server,
}

impl AutomationAnnotations {
    /// Reads an automation's annotations; those without our prefix are ignored.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one of ours that does not parse or is unknown.
    pub fn read(annotations: &BTreeMap<String, String>) -> Result<Self, InvalidAnnotation> {
        check_annotation_keys("ImageUpdateAutomation", annotations)?;
        let duration = |key: &'static str| {
            let Some(value) = ours(annotations, key) else {
                return Ok(None);
            };
            let parsed = gostd::Duration::parse(value.as_bytes()).ok();
            let nanoseconds = parsed.and_then(|parsed| u64::try_from(parsed.0).ok());
            nanoseconds
                .map(|n| Some(Duration::from_nanos(n)))
                .ok_or(InvalidAnnotation::Value {
                    key,
                    value: value.clone(),
                    grammar: "a duration such as 20s or 5m",
                })
        };
        let verify = match ours(annotations, "verify").map(String::as_str) {
            None | Some("none") => VerifyLevel::None,
            Some("build") => VerifyLevel::Build,
            Some("server") => VerifyLevel::Server,
            Some(value) => {
                return Err(InvalidAnnotation::Value {
                    key: "verify",
                    value: value.to_owned(),
                    grammar: "none, build or server",
                });
            }
        };
        let choice = |key: &'static str, [no, yes]: [&str; 2], grammar: &'static str| match ours(annotations, key) {
            None => Ok(false),
            Some(value) if value == no => Ok(false),
            Some(value) if value == yes => Ok(true),
            Some(value) => Err(InvalidAnnotation::Value {
                key,
                value: value.clone(),
                grammar,
            }),
        };
        let on_failure = match ours(annotations, "on-failure").map(String::as_str) {
            None | Some("report") => OnFailure::Report,
            Some("hold") => OnFailure::Hold,
            Some("revert") => OnFailure::Revert,
            Some(value) => {
                return Err(InvalidAnnotation::Value {
                    key: "on-failure",
                    value: value.to_owned(),
                    grammar: "report, hold or revert",
                });
            }
        };
        let follow = Follow {
            on_failure,
            failure_after: duration("failure-after")?.unwrap_or(FAILURE_AFTER),
            bisect: choice("revert", ["commit", "bisect"], "commit or bisect")?,
            message: ours(annotations, "revert-message").cloned(),
        };
        let implied = ["on-failure", "failure-after", "revert", "revert-message"];
        let is_followed = choice("follow", ["false", "true"], "\"true\" or \"false\"")?
            || implied.into_iter().any(|key| ours(annotations, key).is_some());
        Ok(Self {
            follow: is_followed.then_some(follow),
            dry_run: choice("dry-run", ["false", "true"], "\"true\" or \"false\"")?,
            verify,
            verify_timeout: duration("verify-timeout")?,
            push_on_timeout: choice("verify-on-timeout", ["fail", "push"], "fail or push")?,
            release_notes: choice("release-notes", ["false", "true"], "\"true\" or \"false\"")?,
            respect_reverts: reverts_among(ours(annotations, "respect-reverts"))?,
            formats: formats(ours(annotations, "formats"))?,
            rules: rules(ours(annotations, "rules"))?,
            settle: duration("settle")?,
            settle_at_most: duration("settle-at-most")?,
            windows: ours(annotations, "window")
                .map(|value| read_windows(value))
                .transpose()?,
        })
    }

    /// How long to wait when a policy has changed now, with the time since the first change after the last run. `delay`
    /// is `spec.policyChangeDelay`, which counts from the first change: `settle` and `settle-at-most` of that length,
    /// for what the annotations leave open. `None` where nothing is to be waited for.
    #[must_use]
    pub fn pause(&self, delay: Option<Duration>, since_first: Duration) -> Option<Duration> {
        let settle = self.settle.or(delay)?;
        Some(match self.settle_at_most.or(delay) {
            Some(most) => settle.min(most.saturating_sub(since_first)),
            None => settle,
        })
    }
}

fn formats(value: Option<&String>) -> Result<Formats, InvalidAnnotation> {
    let Some(value) = value else {
        return Ok(Formats::default());
    };
    value.parse().map_err(|_| InvalidAnnotation::Value {
        key: "formats",
        value: value.clone(),
        grammar: "\"all\", or names of formats with commas between them: docker, env, hcl, ini, json, make, properties, shell, template, toml",
    })
}

fn rules(value: Option<&String>) -> Result<Option<String>, InvalidAnnotation> {
    let Some(value) = value else { return Ok(None) };
    let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
    if (1..=253).contains(&value.len()) && value.bytes().all(is_name) {
        Ok(Some(value.clone()))
    } else {
        Err(InvalidAnnotation::Value {
            key: "rules",
            value: value.clone(),
            grammar: "the name of a ConfigMap in the namespace of the automation",
        })
    }
}

fn reverts_among(value: Option<&String>) -> Result<Option<u32>, InvalidAnnotation> {
    match value.map(String::as_str) {
        None | Some("false") => Ok(None),
        Some("true") => Ok(Some(REVERTS_AMONG)),
        Some(value) => match value.parse() {
            Ok(commits @ 1..=REVERTS_AMONG_AT_MOST) => Ok(Some(commits)),
            _ => Err(InvalidAnnotation::Value {
                key: "respect-reverts",
                value: value.to_owned(),
                grammar: "\"true\", \"false\", or a number of commits from 1 to 10000",
            }),
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests {
    use super::*;

    /// Annotations with our prefix put before each key.
    pub(crate) fn of_ours(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(key, value)| {
                (
                    format!("{}{key}", bumpwright_policy::ANNOTATION_PREFIX),
                    (*value).to_owned(),
                )
            })
            .collect()
    }

    fn read(pairs: &[(&str, &str)]) -> Result<AutomationAnnotations, InvalidAnnotation> {
        AutomationAnnotations::read(&of_ours(pairs))
    }

    /// What annotations say of formats is what there is.
    #[test]
    fn the_names_of_formats_are_told() {
        let names: Vec<&str> = bumpwright_edit::Format::ALL.iter().map(|(_, name)| *name).collect();
        let error = read(&[("formats", "x")]).unwrap_err().to_string();
        assert!(error.contains(&names.join(", ")), "{error}");
        let known = crate::object::annotations::ANNOTATIONS
            .iter()
            .find(|known| known.key == "formats");
        assert!(known.unwrap().value.contains(&names.join(", ")));
    }

    #[test]
    fn what_does_not_parse_is_named_with_its_grammar() {
        assert_eq!(read(&[]).unwrap(), AutomationAnnotations::default());
        assert!(read(&[("hold", "x")]).is_err());
        assert!(read(&[("dry-run", "true")]).unwrap().dry_run);
        assert!(read(&[("release-notes", "true")]).unwrap().release_notes);
        for (value, level) in [
            ("none", VerifyLevel::None),
            ("build", VerifyLevel::Build),
            ("server", VerifyLevel::Server),
        ] {
            assert_eq!(read(&[("verify", value)]).unwrap().verify, level);
        }
        assert!(read(&[("verify-on-timeout", "push")]).unwrap().push_on_timeout);
        for (value, commits) in [
            ("true", Some(500)),
            ("false", None),
            ("20", Some(20)),
            ("10000", Some(10_000)),
        ] {
            assert_eq!(read(&[("respect-reverts", value)]).unwrap().respect_reverts, commits);
        }
        for (key, value) in [
            ("dry-run", "yes"),
            ("settle", "20"),
            ("settle-at-most", "-1s"),
            ("settle", ""),
            ("verify", "cluster"),
            ("verify-timeout", "soon"),
            ("verify-on-timeout", "ignore"),
            ("follow", "yes"),
            ("release-notes", "yes"),
            ("on-failure", "panic"),
            ("failure-after", "soon"),
            ("revert", "all"),
            ("respect-reverts", "yes"),
            ("respect-reverts", "0"),
            ("respect-reverts", "10001"),
            ("formats", "hcl,xml"),
            ("rules", "other/rules"),
            ("rules", ""),
        ] {
            let error = read(&[(key, value)]).unwrap_err().to_string();
            assert!(error.contains(key) && error.contains("is not"), "{error}");
        }
    }

    #[test]
    fn what_is_done_about_failures_implies_that_commits_are_followed() {
        assert_eq!(read(&[("follow", "false")]).unwrap().follow, None);
        let followed = read(&[("follow", "true")]).unwrap().follow.unwrap();
        assert_eq!(
            (followed.on_failure, followed.failure_after),
            (OnFailure::Report, Duration::from_secs(600))
        );
        let reverted = read(&[("on-failure", "revert"), ("failure-after", "1m"), ("revert", "bisect")]);
        let reverted = reverted.unwrap().follow.unwrap();
        assert_eq!(reverted.on_failure, OnFailure::Revert);
        assert!(reverted.bisect && reverted.failure_after == Duration::from_secs(60));
    }

    #[test]
    fn a_window_that_does_not_parse_is_named_with_its_part() {
        assert!(read(&[("window", "daily 22:00-04:00 UTC")]).unwrap().windows.is_some());
        let error = read(&[("window", "daily 22:00-04:00 MEZ")]).unwrap_err().to_string();
        assert!(
            error.starts_with("annotation bumpwright.dev/window: \"MEZ\" is no IANA time zone"),
            "{error}"
        );
    }

    #[test]
    fn each_change_starts_the_window_again_up_to_the_longest() {
        let seconds = Duration::from_secs;
        let settle: &[_] = &[("settle", "20s")];
        let most: &[_] = &[("settle-at-most", "1m")];
        let both: &[_] = &[("settle", "20s"), ("settle-at-most", "1m")];
        for (annotations, delay, since, expected) in [
            (both, None, 0, Some(20)),
            (both, None, 50, Some(10)),
            (both, None, 70, Some(0)),
            (settle, None, 70, Some(20)),
            (&[], None, 0, None),
            // spec.policyChangeDelay counts from the first change, and is what an annotation leaves open.
            (&[], Some(30), 0, Some(30)),
            (&[], Some(30), 25, Some(5)),
            (settle, Some(30), 0, Some(20)),
            (settle, Some(30), 25, Some(5)),
            (most, Some(30), 40, Some(20)),
            (both, Some(30), 0, Some(20)),
        ] {
            let pause = read(annotations).unwrap().pause(delay.map(seconds), seconds(since));
            assert_eq!(pause, expected.map(seconds), "{annotations:?} {delay:?} {since}");
        }
    }
}
