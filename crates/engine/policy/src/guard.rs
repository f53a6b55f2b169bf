//! Guards of an `ImagePolicy` (`bumpwright.dev/…`): a hold, a minimum age, a ban on downgrades,
//! promotion, signatures, failures, windows.
//!
//! They are off by default, and fail closed: a policy with an invalid annotation is not acted upon.

use std::cmp::Ordering;
use std::fmt;

use super::annotation::{InvalidAnnotation, PREFIX};
use super::choose::ImagePolicy;
use super::failed::{FAILED_VERSIONS, FailedVersion, FailedVersions};
use super::image::LatestRef;
use super::promotion::Promotion;
use super::verification::Verification;
use bumpwright_gostd::{Duration, RFC_3339, Time};
use bumpwright_window::{Closed, Windows};

/// The guards of a policy.
#[derive(Clone, Debug, Default)]
pub struct Guards {
    /// A hold, during which nothing is changed.
    pub hold: Option<Hold>,
    /// The minimum age of images.
    pub minimum_age: Option<Duration>,
    /// Whether an image lower than the one in Git is refused.
    pub refuses_downgrade: bool,
    /// The versions that failed in a cluster, without those that are released.
    pub failed: FailedVersions,
    /// The versions that are released.
    pub released: Vec<String>,
    /// When choices are written; always without.
    pub windows: Option<Windows>,
    /// Whose signatures an image needs.
    pub verification: Option<Box<Verification>>,
    /// Where an image has to have been before it is written.
    pub path_promotion: Option<PathPromotion>,
    /// The Kustomization that images have to be proven by.
    pub promotion: Option<Promotion>,
}

/// Only tags that another part of the repository has had for a while are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPromotion {
    /// The path of that part, without slashes at its ends.
    pub path: String,
    /// For how long it has to have had a tag.
    pub soak: Duration,
}

/// A policy's hold, by its annotation: nothing new is written.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The user's reason; may be empty.
    pub reason: String,
    /// The end; without limit when absent.
    pub until: Option<Time>,
}

/// Why a policy's choice is not written.
#[derive(Clone, Debug)]
pub enum GuardRefusal {
    Held(Hold),
    TooYoung {
        /// The policy's minimum age.
        minimum: Duration,
        /// The age of the image; `None` when unknown.
        age: Option<Duration>,
    },
    Failed(FailedVersion),
    NotProven {
        /// Where images are promoted from; none for a path, which `why` names.
        promotion: Option<Promotion>,
        why: String,
    },
    WouldDowngrade {
        /// The tag in Git.
        from: String,
        /// The policy's choice.
        to: String,
    },
    OutsideWindow(Closed),
    Unsigned {
        /// Why its signatures do not count.
        why: String,
    },
}

impl Guards {
    /// Reads a policy's annotations; those without our prefix are ignored.
    ///
    /// # Errors
    /// [`InvalidAnnotation`] for one of ours that does not parse, or that means nothing beside the others.
    pub fn read<'a>(annotations: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, InvalidAnnotation> {
        let mut guards = Self::default();
        let mut ours: Vec<(&str, &str)> = Vec::new();
        for (key, value) in annotations {
            match key.strip_prefix(PREFIX) {
                Some(key) => ours.push((key, value)),
                None if key == FAILED_VERSIONS => guards.failed = FailedVersions::parse(value),
                None => {}
            }
        }
        ours.sort_unstable();
        guards.verification = Verification::read(&ours)?.map(Box::new);
        guards.promotion = Promotion::read(&ours)?;
        let (mut until, mut path, mut soak) = (None, None, None);
        for (key, value) in ours {
            match key {
                "allow-downgrade" => guards.refuses_downgrade = !read_flag(value)?,
                "hold" => {
                    guards.hold = Some(Hold {
                        reason: value.to_owned(),
                        until: None,
                    });
                }
                "hold-until" => until = Some(read_time(value)?),
                "minimum-age" => guards.minimum_age = Some(read_age("minimum-age", value)?),
                "promote-path" => path = Some(read_path(value)?),
                "release" => guards.released = read_versions(value)?,
                "soak" => soak = Some(read_age("soak", value)?),
                "window" => guards.windows = Some(read_windows(value)?),
                _ => {}
            }
        }
        guards.failed = guards.failed.without(&guards.released);
        if let Some(until) = until {
            // A time without a reason is a hold, too.
            let hold = guards.hold.get_or_insert(Hold {
                reason: String::new(),
                until: None,
            });
            hold.until = Some(until);
        }
        guards.path_promotion = path.map(|path| PathPromotion {
            path,
            soak: soak.unwrap_or(Duration(0)),
        });
        Ok(guards)
    }

    /// Checks the hold at a time.
    ///
    /// # Errors
    /// [`GuardRefusal::Held`] during a hold.
    pub fn check_hold(&self, now: &Time) -> Result<(), GuardRefusal> {
        match &self.hold {
            Some(hold) if hold.until.as_ref().is_none_or(|until| now.order(until).is_lt()) => {
                Err(GuardRefusal::Held(hold.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Checks the windows at a time.
    ///
    /// # Errors
    /// [`GuardRefusal::OutsideWindow`] while all of them are closed.
    pub fn check_window(&self, now: &Time) -> Result<(), GuardRefusal> {
        let windows = self.windows.as_ref();
        windows.map_or(Ok(()), |windows| {
            windows.check(now).map_err(GuardRefusal::OutsideWindow)
        })
    }

    /// Checks the age of an image by its time of creation.
    ///
    /// # Errors
    /// [`GuardRefusal::TooYoung`] when it is too young, or its age is unknown.
    pub fn check_age(&self, created: Option<&Time>, now: &Time) -> Result<(), GuardRefusal> {
        let Some(minimum) = self.minimum_age else {
            return Ok(());
        };
        let age = created.map(|created| now.since(created));
        match age {
            Some(age) if age >= minimum => Ok(()),
            _ => Err(GuardRefusal::TooYoung { minimum, age }),
        }
    }

    /// Checks that no other stage has to prove images, where none can be asked.
    ///
    /// # Errors
    /// [`GuardRefusal::NotProven`] for a policy with `promote-from`.
    pub fn check_without_cluster(&self) -> Result<(), GuardRefusal> {
        match &self.promotion {
            None => Ok(()),
            Some(promotion) => Err(GuardRefusal::NotProven {
                promotion: Some(promotion.clone()),
                why: "only the controller in a cluster can look at it".to_owned(),
            }),
        }
    }

    /// Checks that an image has not failed in a cluster.
    ///
    /// # Errors
    /// [`GuardRefusal::Failed`] for one that has, unless it is released.
    pub fn check_failed(&self, image: &LatestRef) -> Result<(), GuardRefusal> {
        match self.failed.get(image) {
            Some(failed) => Err(GuardRefusal::Failed(failed.clone())),
            None => Ok(()),
        }
    }

    /// Checks an image that no registry is asked about.
    ///
    /// # Errors
    /// [`GuardRefusal::Unsigned`] when its signatures had to be verified.
    pub fn check_unasked(&self) -> Result<(), GuardRefusal> {
        match &self.verification {
            None => Ok(()),
            Some(_) => Err(GuardRefusal::Unsigned {
                why: "its signatures are not verified, since no registry is asked".to_owned(),
            }),
        }
    }

    /// Checks that a change of tags is not a downgrade. Tags that cannot be compared, such as `latest` with a version,
    /// are not. With a minimum age a tag that the policy takes is never given up for a lower one: that one may be
    /// chosen only because the newer ones are too young.
    ///
    /// # Errors
    /// [`GuardRefusal::WouldDowngrade`] for a downgrade that the policy forbids.
    pub fn check_downgrade(&self, policy: &ImagePolicy, from: &str, to: &str) -> Result<(), GuardRefusal> {
        let refuses = self.refuses_downgrade || (self.minimum_age.is_some() && policy.takes(from));
        if refuses && policy.compare(to, from) == Some(Ordering::Less) {
            return Err(GuardRefusal::WouldDowngrade {
                from: from.to_owned(),
                to: to.to_owned(),
            });
        }
        Ok(())
    }
}

impl GuardRefusal {
    /// The reason in machine-readable output.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Held(_) => "Held",
            Self::TooYoung { .. } => "TooYoung",
            Self::Failed(_) => "Failed",
            Self::NotProven { .. } => "NotProven",
            Self::WouldDowngrade { .. } => "WouldDowngrade",
            Self::OutsideWindow(_) => "OutsideWindow",
            Self::Unsigned { .. } => "Unsigned",
        }
    }
}

impl fmt::Display for GuardRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held(hold) => {
                f.write_str("held")?;
                if let Some(until) = &hold.until {
                    write!(f, " until {}", until.written(RFC_3339))?;
                }
                if hold.reason.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {}", hold.reason)
                }
            }
            Self::TooYoung {
                minimum,
                age: Some(age),
            } if age.0 < 0 => write!(
                f,
                "the image says that it is of the future, {minimum} of age at least is wanted"
            ),
            Self::TooYoung {
                minimum,
                age: Some(age),
            } => write!(
                f,
                "the image is {} old, {minimum} at least is wanted",
                age.truncate(Duration::SECOND)
            ),
            Self::TooYoung { minimum, age: None } => {
                write!(f, "the image's age is not known, {minimum} at least is wanted")
            }
            Self::Failed(failed) => write!(f, "held, since {failed}"),
            Self::NotProven {
                promotion: Some(promotion),
                why,
            } => write!(f, "not proven by {promotion}: {why}"),
            Self::NotProven { promotion: None, why } => write!(f, "not proven: {why}"),
            Self::WouldDowngrade { from, to } => write!(f, "{to} is lower than {from}, which is in use"),
            Self::OutsideWindow(closed) => closed.fmt(f),
            Self::Unsigned { why } => write!(f, "unsigned: {why}"),
        }
    }
}

fn read_flag(value: &str) -> Result<bool, InvalidAnnotation> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(InvalidAnnotation::value(
            "allow-downgrade",
            value,
            "\"true\" or \"false\"",
        )),
    }
}

fn read_time(value: &str) -> Result<Time, InvalidAnnotation> {
    Time::parse(RFC_3339, value.as_bytes())
        .map_err(|_| InvalidAnnotation::value("hold-until", value, "an RFC 3339 time such as 2026-01-31T08:00:00Z"))
}

fn read_versions(value: &str) -> Result<Vec<String>, InvalidAnnotation> {
    let versions: Vec<String> = value.split(',').map(|version| version.trim().to_owned()).collect();
    if versions.iter().any(String::is_empty) {
        Err(InvalidAnnotation::value(
            "release",
            value,
            "a tag such as 1.2.3, or several with commas between them",
        ))
    } else {
        Ok(versions)
    }
}

fn read_age(key: &'static str, value: &str) -> Result<Duration, InvalidAnnotation> {
    match Duration::parse(value.as_bytes()) {
        Ok(age) if age >= Duration(0) => Ok(age),
        _ => Err(InvalidAnnotation::value(key, value, "a duration such as 72h or 1h30m")),
    }
}

/// The windows of an annotation `window`, of any kind.
///
/// # Errors
/// [`InvalidAnnotation::Part`] with the part that is not valid.
pub fn read_windows(value: &str) -> Result<Windows, InvalidAnnotation> {
    Windows::parse(value).map_err(|error| InvalidAnnotation::Part {
        key: "window",
        why: error.to_string(),
    })
}

/// The path without slashes at its ends, and without `./`.
fn read_path(value: &str) -> Result<String, InvalidAnnotation> {
    let mut names = value.split('/').filter(|name| !matches!(*name, "" | "."));
    let path = names.clone().collect::<Vec<_>>().join("/");
    if path.is_empty() || names.any(|name| name == "..") || value.contains('\0') {
        return Err(InvalidAnnotation::value(
            "promote-path",
            value,
            "a path of the repository such as clusters/staging",
        ));
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::rule::RuleSpec;
    use super::*;

    fn time(text: &str) -> Time {
        Time::parse(RFC_3339, text.as_bytes()).unwrap()
    }

    fn guards_of(annotations: &[(&str, &str)]) -> Guards {
        Guards::read(annotations.iter().copied()).unwrap()
    }

    #[test]
    fn what_does_not_parse_is_named_with_its_grammar() {
        for (key, value, grammar) in [
            (
                "hold-until",
                "tomorrow",
                "an RFC 3339 time such as 2026-01-31T08:00:00Z",
            ),
            ("hold-until", "", "an RFC 3339 time such as 2026-01-31T08:00:00Z"),
            ("minimum-age", "3d", "a duration such as 72h or 1h30m"),
            ("minimum-age", "-1h", "a duration such as 72h or 1h30m"),
            ("allow-downgrade", "False", "\"true\" or \"false\""),
            (
                "release",
                "1.2.3,",
                "a tag such as 1.2.3, or several with commas between them",
            ),
            (
                "promote-path",
                "./",
                "a path of the repository such as clusters/staging",
            ),
            (
                "promote-path",
                "a/../b",
                "a path of the repository such as clusters/staging",
            ),
        ] {
            let key = format!("{PREFIX}{key}");
            let error = Guards::read([("other.dev/hold", "x"), (key.as_str(), value)]).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("annotation {key}: {value:?} is not {grammar}")
            );
        }
    }

    #[test]
    fn what_nobody_can_be_asked_about_is_refused() {
        let reason = |result: Result<(), GuardRefusal>| result.err().map(|refusal| refusal.name());
        let free = guards_of(&[("bumpwright.dev/allow-downgrade", "true")]);
        assert!(free.check_without_cluster().is_ok() && free.check_unasked().is_ok());
        let promoted = guards_of(&[("bumpwright.dev/promote-from", "Kustomization/flux-system/apps")]);
        assert_eq!(reason(promoted.check_without_cluster()), Some("NotProven"));
        let signed = [
            ("bumpwright.dev/verify-provider", "cosign"),
            ("bumpwright.dev/verify-secret", "keys"),
        ];
        assert_eq!(reason(guards_of(&signed).check_unasked()), Some("Unsigned"));
    }

    #[test]
    fn a_promotion_has_a_path_and_a_time() {
        let path = ("bumpwright.dev/promote-path", "./clusters//staging/");
        let promotion = |annotations: &[(&str, &str)]| guards_of(annotations).path_promotion;
        let expected = |soak: i64| {
            Some(PathPromotion {
                path: "clusters/staging".to_owned(),
                soak: Duration(soak),
            })
        };
        assert_eq!(promotion(&[path]), expected(0));
        assert_eq!(
            promotion(&[("bumpwright.dev/soak", "1s"), path]),
            expected(1_000_000_000)
        );
        assert_eq!(promotion(&[]), None);
    }

    #[test]
    fn a_hold_lasts_until_its_time() {
        let (early, late) = (time("2026-01-31T07:59:59Z"), time("2026-01-31T09:00:00+01:00"));
        let said = |guards: &Guards, now| guards.check_hold(now).err().map(|refusal| refusal.to_string());
        let hold = ("bumpwright.dev/hold", "freeze");
        let until = ("bumpwright.dev/hold-until", "2026-01-31T08:00:00Z");
        assert_eq!(said(&guards_of(&[hold]), &late).as_deref(), Some("held: freeze"));
        let both = guards_of(&[until, hold]);
        assert_eq!(
            said(&both, &early).as_deref(),
            Some("held until 2026-01-31T08:00:00Z: freeze")
        );
        assert_eq!(said(&both, &late), None);
        assert_eq!(
            said(&guards_of(&[until]), &early).as_deref(),
            Some("held until 2026-01-31T08:00:00Z")
        );
        assert_eq!(said(&guards_of(&[("hold", "")]), &early), None);
    }

    #[test]
    fn a_version_that_failed_is_held_until_it_is_released() {
        let image = LatestRef {
            name: "o/app".to_owned(),
            tag: "1.2.3".to_owned(),
            digest: None,
        };
        let mut failed = FailedVersions::default();
        failed.add(
            &image,
            FailedVersion {
                image: "o/app".to_owned(),
                kustomization: "fs/apps".to_owned(),
                message: "timeout".to_owned(),
                ..FailedVersion::default()
            },
        );
        let text = failed.text().unwrap();
        let said = |annotations: &[(&str, &str)]| {
            guards_of(annotations)
                .check_failed(&image)
                .err()
                .map(|refusal| refusal.to_string())
        };
        assert_eq!(
            said(&[(FAILED_VERSIONS, &text)]).as_deref(),
            Some("held, since it failed in Kustomization fs/apps: timeout")
        );
        assert!(
            said(&[(FAILED_VERSIONS, &text), ("other.dev/note", "x")]).is_some(),
            "other annotations are ignored"
        );
        assert_eq!(
            said(&[(FAILED_VERSIONS, &text), ("bumpwright.dev/release", "1.2.2, 1.2.3")]),
            None
        );
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn an_image_of_unknown_age_is_too_young() {
        let guards = guards_of(&[("bumpwright.dev/minimum-age", "72h")]);
        let now = time("2026-01-31T00:00:00Z");
        for (created, expected) in [
            (Some(time("2026-01-28T00:00:00Z")), None),
            (
                Some(time("2026-01-28T00:00:01Z")),
                Some("the image is 71h59m59s old, 72h0m0s at least is wanted"),
            ),
            (
                Some(time("2026-01-30T23:59:59.123456789Z")),
                Some("the image is 0s old, 72h0m0s at least is wanted"),
            ),
            (
                Some(time("2100-01-01T00:00:00Z")),
                Some("the image says that it is of the future, 72h0m0s of age at least is wanted"),
            ),
            (None, Some("the image's age is not known, 72h0m0s at least is wanted")),
        ] {
            let refusal = guards.check_age(created.as_ref(), &now).err();
            assert_eq!(refusal.map(|refusal| refusal.to_string()).as_deref(), expected);
        }
        assert!(Guards::default().check_age(None, &now).is_ok());
    }

    #[test]
    fn windows_are_checked_at_a_time() {
        let guards = guards_of(&[("bumpwright.dev/window", "Mon-Fri 09:00-16:00")]);
        assert!(guards.check_window(&time("2026-11-26T12:00:00Z")).is_ok());
        let refusal = guards.check_window(&time("2026-11-27T16:00:00Z")).unwrap_err();
        assert_eq!(
            (refusal.name(), refusal.to_string().as_str()),
            (
                "OutsideWindow",
                "outside of the window Mon-Fri 09:00-16:00, which opens at 2026-11-30T09:00:00Z"
            )
        );
        assert!(Guards::default().check_window(&time("2026-11-28T00:00:00Z")).is_ok());
        let error = Guards::read([("bumpwright.dev/window", "Mo 09:00-16:00")]).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("annotation bumpwright.dev/window: \"Mo\" is no day"),
            "{error}"
        );
    }

    #[test]
    fn a_lower_tag_is_refused_even_where_the_range_asks_for_it() {
        let rule = RuleSpec {
            semver: Some("<2".to_owned()),
            ..RuleSpec::default()
        };
        let policy = ImagePolicy::new(&rule, None).unwrap();
        let guards = guards_of(&[("bumpwright.dev/allow-downgrade", "false")]);
        for (from, to, refused) in [
            ("2.0.0", "1.9.0", true),
            ("1.8.0", "1.9.0", false),
            ("v1.9.0", "1.9.0", false),
            ("latest", "1.9.0", false),
        ] {
            assert_eq!(
                guards.check_downgrade(&policy, from, to).is_err(),
                refused,
                "{from} {to}"
            );
            assert!(Guards::default().check_downgrade(&policy, from, to).is_ok());
        }
        // What the range does not take any more goes, what it takes does not go back.
        let aged = guards_of(&[("bumpwright.dev/minimum-age", "72h")]);
        assert!(aged.check_downgrade(&policy, "2.0.0", "1.9.0").is_ok());
        assert!(aged.check_downgrade(&policy, "1.9.1", "1.9.0").is_err());
    }
}
