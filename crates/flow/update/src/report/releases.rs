//! What is known of the releases behind the bumps of a run: links, and what their authors say.

use std::fmt;
use std::fmt::Write as _;

use serde::Serialize;

use crate::plan::bumps::Bump;
use bumpwright_forge::markdown::{cell, code, fence};
use bumpwright_policy::PolicyName;
use bumpwright_text::{Excerpt, between};

/// The most lines of a release's text.
const LINES: usize = 12;

/// The longest line of a release's text, and the longest title, in characters.
const LONGEST: usize = 160;

/// The longest address of a link, in bytes.
const LONGEST_LINK: usize = 2048;

/// An image that a run changes to another version.
#[derive(Clone, Copy, Debug)]
pub struct BumpedImage<'r> {
    /// The policy that chose it.
    pub policy: &'r PolicyName,
    pub image: &'r str,
    /// The tag before; none where the field had no more than a digest.
    pub old: Option<&'r str>,
    /// The new tag.
    pub new: &'r str,
}

/// What is known of the release behind a bump. Titles and texts are of strangers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImageRelease {
    /// The name of the image.
    pub image: String,
    /// The tag before the run; none for an image without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The new tag.
    pub new: String,
    /// The page of what changed in its source.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compare: Option<String>,
    /// The page of its release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The title of the release, on one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The first lines of the release's text, as its author wrote them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub text: Vec<String>,
}

impl ImageRelease {
    /// With the page, the title and the text of its release, bounded.
    #[must_use]
    pub fn released(self, url: &str, title: &str, text: &str) -> Self {
        let mut lines: Vec<String> = text
            .lines()
            .map(line)
            .skip_while(String::is_empty)
            .take(LINES)
            .collect();
        if text.lines().map(line).skip_while(String::is_empty).nth(LINES).is_some() {
            lines.push("…".to_owned());
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        Self {
            release: link(url),
            title: line(title),
            text: lines,
            ..self
        }
    }

    /// With the page of what changed in its source.
    #[must_use]
    pub fn compared(self, url: Option<String>) -> Self {
        Self {
            compare: url.as_deref().and_then(link),
            ..self
        }
    }

    /// The image and its versions: `ghcr.io/acme/web: 1.2.3 → 1.3.0`.
    #[must_use]
    pub fn step(&self) -> String {
        let old = between("", self.old.as_ref(), " → ");
        format!("{}: {old}{}", self.image, self.new)
    }

    /// Whether there is something to say.
    #[must_use]
    pub fn says_something(&self) -> bool {
        self.compare.is_some() || self.release.is_some()
    }
}

/// Asks registries and forges for the releases of images.
pub trait Releases: fmt::Debug + Send + Sync {
    /// What is known of the images, in their order, and notes about what could not be asked. Implementations bound how
    /// many they ask about, and for how long: the run waits.
    fn releases(&self, images: &[BumpedImage<'_>]) -> (Vec<ImageRelease>, Vec<String>);
}

/// The releases behind these bumps, and notes. That nothing is known of them holds nothing up.
pub(crate) fn of_bumps(asked: &dyn Releases, bumps: &[Bump<'_>]) -> (Vec<ImageRelease>, Vec<String>) {
    let images: Vec<BumpedImage<'_>> = bumps.iter().filter_map(image).collect();
    let (mut found, notes) = asked.releases(&images);
    found.retain(ImageRelease::says_something);
    (found, notes)
}

fn image<'r>(bump: &Bump<'r>) -> Option<BumpedImage<'r>> {
    let tag = |version: &'r str| {
        let tag = version.split('@').next()?;
        (!tag.is_empty() && !tag.contains([':', '/'])).then_some(tag)
    };
    (!bump.name.is_empty()).then_some(BumpedImage {
        policy: bump.policy,
        image: bump.name,
        old: tag(bump.old),
        new: tag(bump.new)?,
    })
}

/// The section in Markdown, with a heading of this level and an empty line at its end; empty without releases. Texts of
/// authors are code: they mention nobody and link nowhere.
#[must_use]
pub fn releases_section(releases: &[ImageRelease], level: usize) -> String {
    if releases.is_empty() {
        return String::new();
    }
    format!("{} Releases\n\n{}\n", "#".repeat(level), releases_list(releases))
}

/// The list of the section alone.
#[must_use]
pub fn releases_list(releases: &[ImageRelease]) -> String {
    let mut out = String::new();
    for one in releases {
        let old = one
            .old
            .as_ref()
            .map(|old| format!("`{}` → ", code(old)))
            .unwrap_or_default();
        let _ = write!(out, "- `{}`: {old}`{}`", code(&one.image), code(&one.new));
        if let Some(url) = &one.compare {
            let _ = write!(out, " · [changes]({url})");
        }
        if let Some(url) = &one.release {
            let title = if one.title.is_empty() {
                "release".to_owned()
            } else {
                cell(&one.title)
            };
            let _ = write!(out, " · [{title}]({url})");
        }
        out.push('\n');
        if !one.text.is_empty() {
            let text = one.text.join("\n");
            let fence = fence(&text);
            let text = text.replace('\n', "\n  ");
            let _ = writeln!(
                out,
                "  <details><summary>what its authors say</summary>\n\n  {fence}text\n  {text}\n  {fence}\n\n  </details>"
            );
        }
    }
    out
}

/// Releases whose list has about so many bytes: those for whose texts there is no room have their links alone.
#[must_use]
pub fn shortened(releases: &[ImageRelease], most: usize) -> Vec<ImageRelease> {
    let mut left = most;
    let fitted = |release: &ImageRelease| {
        let length = releases_list(std::slice::from_ref(release)).len();
        let mut release = release.clone();
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => release.text.clear(),
        }
        release
    };
    releases.iter().map(fitted).collect()
}

fn line(text: &str) -> String {
    plain(text, LONGEST)
}

/// A text without characters that move a cursor or turn the direction of what follows, and with so many at most.
pub(crate) fn plain(text: &str, longest: usize) -> String {
    let turns =
        |c: char| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let clean = text.trim_end().chars().filter(|c| !c.is_control() && !turns(*c));
    let clean: String = clean.take(longest + 1).collect();
    clean.excerpt(longest).into_owned()
}

/// An address that is a link in Markdown and HTML as it is.
fn link(url: &str) -> Option<String> {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"<>()[]\"'`\\|".contains(&byte);
    let is_link = url.len() <= LONGEST_LINK && (url.starts_with("https://") || url.starts_with("http://"));
    (is_link && url.bytes().all(is_plain)).then(|| url.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_strangers_are_bounded_and_stay_text() {
        let text = format!(
            "\n\n## Fixes\n\n- @somebody ```x``` <img src=x>\u{1b}[31m\n{}\n{}",
            "y".repeat(500),
            "z\n".repeat(30)
        );
        let one = ImageRelease {
            image: "ghcr.io/acme/web".to_owned(),
            old: Some("1.2.3".to_owned()),
            new: "1.3.0".to_owned(),
            ..ImageRelease::default()
        };
        let one = one
            .released(
                "https://github.com/acme/web/releases/tag/v1.3.0",
                "v1.3.0 [x](y) @team",
                &text,
            )
            .compared(Some("https://github.com/acme/web/compare/a...b".to_owned()));
        assert_eq!(one.text.len(), LINES + 1);
        assert!(one.text.iter().all(|line| line.chars().count() <= LONGEST + 1));
        let section = releases_section(&[one], 3);
        let head = "### Releases\n\n- `ghcr.io/acme/web`: `1.2.3` → `1.3.0` · \
                    [changes](https://github.com/acme/web/compare/a...b) · [v1.3.0 \\[&#8203;x\\](y) @&#8203;team]";
        assert!(section.starts_with(head), "{section}");
        assert!(section.contains("  ````text\n  ## Fixes\n"), "{section}");
        assert!(section.ends_with("  ````\n\n  </details>\n\n"), "{section}");
        assert!(!section.contains('\u{1b}'));
    }

    #[test]
    fn texts_without_room_are_left_out_and_links_stay() {
        let release = |text: usize| {
            let url = "https://github.com/acme/web/releases/tag/1";
            ImageRelease::default().released(url, "1", &"x".repeat(text))
        };
        let all = shortened(&[release(100), release(150), release(10)], 450);
        let texts: Vec<usize> = all.iter().map(|one| one.text.len()).collect();
        assert_eq!(texts, [1, 0, 1]);
        assert!(all.iter().all(|one| one.release.is_some()));
    }

    #[test]
    fn only_plain_addresses_are_links() {
        for (url, is_link) in [
            ("https://github.com/a/b/compare/1...2", true),
            ("javascript:alert(1)", false),
            ("https://x/)[y](https://z", false),
            ("https://x/ y", false),
        ] {
            assert_eq!(link(url).is_some(), is_link, "{url}");
        }
    }
}
