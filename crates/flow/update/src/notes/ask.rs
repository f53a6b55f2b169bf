//! Images are asked about: a few at a time, and no longer than is worth it.

use std::fmt::Display;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::forges::{ReleaseForges, links, web};
use crate::report::releases::{ImageRelease, plain};
use bumpwright_http::{Deadline, Job};
use bumpwright_registry::Origin;

/// The most images that are asked about; the rest is counted.
const MOST: usize = 20;

/// How many are asked about at a time.
const AT_ONCE: usize = 4;

/// The longest name that a tag of a release may have, in bytes.
const LONGEST_TAG: usize = 128;

/// The longest text of an error, in characters.
const LONGEST_ERROR: usize = 500;

/// An image that goes from one version to another. A version is a tag, a digest with `@` before it, or a tag and that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageStep {
    /// The name of the image.
    pub image: String,
    /// The version before; none where it is not known.
    pub old: Option<String>,
    pub new: String,
}

/// What is known of the releases of images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AskedReleases {
    /// Those of which something is known, in the order of the images.
    pub releases: Vec<ImageRelease>,
    /// How many images were not asked about: they were too many, or the time was over.
    pub left_out: usize,
    /// What could not be asked.
    pub notes: Vec<String>,
}

/// What is known of an image, and why no more.
type Found = (ImageRelease, Option<String>);

impl ImageStep {
    /// The image in one of its versions.
    #[must_use]
    pub fn reference(&self, version: &str) -> String {
        let colon = if version.starts_with('@') { "" } else { ":" };
        format!("{}{colon}{version}", self.image)
    }

    /// The image, of whose release nothing is known.
    #[must_use]
    pub fn unknown(&self) -> ImageRelease {
        let (old, new) = self.shown();
        ImageRelease {
            image: self.image.clone(),
            old,
            new,
            ..ImageRelease::default()
        }
    }

    /// The versions for people: a digest only where no tag says what has changed.
    fn shown(&self) -> (Option<String>, String) {
        let old = self.old.as_deref();
        let is_clear = !tag(&self.new).is_empty() && old.is_none_or(|old| tag(old) != tag(&self.new));
        let shown = |version: &str| match tag(version) {
            tag if is_clear && !tag.is_empty() => tag.to_owned(),
            _ => version.trim_start_matches('@').to_owned(),
        };
        (old.map(shown), shown(&self.new))
    }
}

impl ReleaseForges {
    /// What is known of the release behind a step of an image, whose labels `origin` has by version. The text is why
    /// no more is known; that nothing is known of the old version holds nothing up.
    pub fn of_image<E: Display>(
        &self,
        step: &ImageStep,
        origin: impl Fn(&str) -> Result<Origin, E>,
    ) -> (ImageRelease, Option<String>) {
        let release = step.unknown();
        let labels = match origin(&step.new) {
            Ok(labels) => labels,
            Err(error) => return (release, Some(error.to_string())),
        };
        let Some(source) = labels.source.as_deref().and_then(web) else {
            return (release, None);
        };
        let compared = || {
            let known = self.knows(&source).then(|| links(&source))?;
            let (links, revision) = (known?, labels.revision.as_deref()?);
            // The image before may be gone: then there is nothing to compare with.
            let before = origin(step.old.as_deref()?).ok()?;
            let before = before.revision.filter(|_| before.source == labels.source)?;
            (before != revision).then(|| links.compare(&before, revision))?
        };
        let release = release.compared(compared());
        match self.release(&source, &tags(labels.version.as_deref(), tag(&step.new))) {
            Ok(Some(found)) => (release.released(&found.url, &found.title, &found.text), None),
            Ok(None) => (release, None),
            Err(error) => (release, Some(error.to_string())),
        }
    }
}

impl AskedReleases {
    /// The releases, and notes about what could not be asked and what was left out.
    #[must_use]
    pub fn noted(mut self) -> (Vec<ImageRelease>, Vec<String>) {
        if self.left_out > 0 {
            self.notes
                .push(format!("releases: {} images were not asked about", self.left_out));
        }
        (self.releases, self.notes)
    }
}

/// Asks about images, on several threads of the job: none that is not begun when `limit` is over.
pub fn ask_all<T: Sync>(
    images: &[T],
    limit: Duration,
    ask: impl Fn(&T) -> (ImageRelease, Option<String>) + Sync,
) -> AskedReleases {
    let wanted = images.get(..MOST).unwrap_or(images);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(wanted.len())));
    Job::within(limit, || {
        let (job, end) = (Job::current_or_new(), Deadline::after(limit));
        let work = || {
            job.run(|| {
                loop {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(image) = wanted.get(place).filter(|_| !end.passed()) else {
                        return;
                    };
                    let found = ask(image);
                    done.lock().push((place, found));
                }
            });
        };
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE.min(wanted.len()) {
                scope.spawn(work);
            }
        });
    });
    let mut done: Vec<(usize, Found)> = done.into_inner();
    done.sort_by_key(|(place, _)| *place);
    let found: Vec<Found> = done.into_iter().map(|(_, found)| found).collect();
    let notes = failures(&found);
    let left_out = images.len() - found.len();
    let releases = found.into_iter().map(|(release, _)| release);
    AskedReleases {
        releases: releases.filter(ImageRelease::says_something).collect(),
        left_out,
        notes,
    }
}

/// A note for each reason why something could not be asked.
fn failures(found: &[Found]) -> Vec<String> {
    let mut reasons: Vec<(&str, &str, usize)> = Vec::new();
    for (release, error) in found {
        let Some(error) = error.as_deref() else { continue };
        match reasons.iter_mut().find(|(known, ..)| *known == error) {
            Some((_, _, others)) => *others += 1,
            None => reasons.push((error, &release.image, 0)),
        }
    }
    let note = |(error, first, others): (&str, &str, usize)| {
        let more = match others {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        plain(&format!("releases of {first}{more}: {error}"), LONGEST_ERROR)
    };
    reasons.into_iter().map(note).collect()
}

/// The tag of a version; empty for a digest alone.
fn tag(version: &str) -> &str {
    version.split('@').next().unwrap_or(version)
}

/// The names that the tag of a release may have, the likeliest first.
fn tags(version: Option<&str>, tag: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for name in version.into_iter().chain([tag]) {
        let bare = name.strip_prefix('v').unwrap_or(name);
        if bare.is_empty() || name.len() > LONGEST_TAG || bare.chars().all(|c| c == '.') {
            continue;
        }
        for name in [name.to_owned(), format!("v{bare}"), bare.to_owned()] {
            if !out.contains(&name) {
                out.push(name);
            }
        }
    }
    out.truncate(4);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_forge::Login;

    fn step(old: &str, new: &str) -> ImageStep {
        ImageStep {
            image: "ghcr.io/acme/web".to_owned(),
            old: Some(old.to_owned()),
            new: new.to_owned(),
        }
    }

    #[test]
    fn a_release_has_one_of_these_tags() {
        assert_eq!(
            tags(Some("1.2.3"), "1.2.3-alpine"),
            ["1.2.3", "v1.2.3", "1.2.3-alpine", "v1.2.3-alpine"]
        );
        assert_eq!(tags(None, "v1.2.3"), ["v1.2.3", "1.2.3"]);
        assert_eq!(tags(Some(".."), ""), [""; 0]);
        assert_eq!(tags(Some(&"1".repeat(500)), "2"), ["2", "v2"]);
    }

    #[test]
    fn digests_are_shown_where_tags_say_nothing() {
        let shown = |old: &str, new: &str| {
            let (old, new) = step(old, new).shown();
            (old.unwrap_or_default(), new)
        };
        let texts = |old: &str, new: &str| (old.to_owned(), new.to_owned());
        assert_eq!(shown("1.0@sha256:a", "1.1@sha256:b"), texts("1.0", "1.1"));
        assert_eq!(
            shown("1.0@sha256:a", "1.0@sha256:b"),
            texts("1.0@sha256:a", "1.0@sha256:b")
        );
        assert_eq!(shown("@sha256:a", "@sha256:b"), texts("sha256:a", "sha256:b"));
        let step = step("1.0", "@sha256:b");
        assert_eq!(step.reference("1.0"), "ghcr.io/acme/web:1.0");
        assert_eq!(step.reference(&step.new), "ghcr.io/acme/web@sha256:b");
    }

    /// Nobody is asked here: the source is at no forge that may be.
    #[test]
    fn labels_give_a_link_to_what_changed() {
        let forges = ReleaseForges::new(Login::Nobody);
        let of = |source: &'static str, old: &'static str| {
            let origin = move |version: &str| {
                let revision = if version == "1.0" { old } else { "bbb" };
                Ok::<_, String>(Origin {
                    source: Some(source.to_owned()),
                    revision: Some(revision.to_owned()),
                    version: None,
                })
            };
            forges.of_image(&step("1.0", "1.1"), origin).0.compare
        };
        let link = of("https://bitbucket.org/acme/web", "aaa");
        assert_eq!(
            link.as_deref(),
            Some("https://bitbucket.org/acme/web/branches/compare/bbb%0Daaa")
        );
        assert_eq!(of("https://bitbucket.org/acme/web", "bbb"), None);
        // A label names any host.
        assert_eq!(of("https://gitlab.example.org/acme/web", "aaa"), None);
        assert_eq!(of("http://169.254.169.254/acme/web", "aaa"), None);
    }

    #[test]
    fn what_fails_alike_is_one_note_and_what_is_too_much_is_counted() {
        let images: Vec<usize> = (0..MOST + 3).collect();
        let ask = |n: &usize| {
            let image = format!("web{n}");
            let release = ImageRelease {
                image,
                compare: (*n == 1).then(|| "https://github.com/a/b/compare/1...2".to_owned()),
                ..ImageRelease::default()
            };
            (release, (*n > 1).then(|| "the forge is down\u{1b}".to_owned()))
        };
        let asked = ask_all(&images, Duration::from_secs(60), ask);
        assert_eq!(asked.releases.len(), 1);
        assert_eq!(asked.left_out, 3);
        assert_eq!(asked.notes, ["releases of web2 and 17 more: the forge is down"]);
        let asked = ask_all(&images, Duration::ZERO, ask);
        assert_eq!((asked.releases.len(), asked.left_out), (0, MOST + 3));
        let (_, notes) = asked.noted();
        assert_eq!(notes, ["releases: 23 images were not asked about"]);
    }
}
