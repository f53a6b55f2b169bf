//! `# renovate: datasource=docker depName=ghcr.io/acme/web` above a field that holds a version.

use std::collections::BTreeMap;

use crate::fields::reference;
use crate::found::Raw;
use crate::listed::Listing;
use bumpwright_adopt::Parsed;
use bumpwright_api::RepositoryKind;
use bumpwright_api::tree::Node;
use bumpwright_edit::Part;

/// Versions of a datasource of Renovate that nothing here lists.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("versions of {0} are not followed here: leave the field to Renovate")]
struct NotFollowed(String);

/// What such a comment begins with.
const PREFIX: &str = "renovate:";

/// The uses that comments of a file name, for fields that are not among the `known` uses.
pub(crate) fn of_comments(file: &Parsed<'_>, known: &[Raw]) -> Vec<Raw> {
    let mut markers = Vec::new();
    if !file.text.contains(PREFIX) {
        return markers;
    }
    let mut comment: Option<Comment> = None;
    let mut named: BTreeMap<usize, Comment> = BTreeMap::new();
    for (n, line) in file.text.lines().enumerate() {
        let line = line.trim();
        match line.strip_prefix('#') {
            Some(text) => comment = Comment::read(text).or(comment),
            None if line.is_empty() => {}
            None => named.extend(comment.take().map(|comment| (n + 1, comment))),
        }
    }
    if named.is_empty() {
        return markers;
    }
    for node in file.documents.iter().flat_map(|document| document.all()) {
        let values = node.entries().iter().map(|entry| &*entry.node);
        for value in values.chain(node.items().iter().map(|item| &**item)) {
            let Some(comment) = named.get(&value.place.line) else {
                continue;
            };
            if value.text().is_some_and(|text| !text.is_empty())
                && !known.iter().any(|raw| raw.start() == value.span.start)
            {
                markers.extend(comment.of(value));
            }
        }
    }
    markers
}

/// What a comment says.
struct Comment {
    datasource: String,
    name: String,
    registry: Option<String>,
}

impl Comment {
    fn read(text: &str) -> Option<Self> {
        let words = text.trim().strip_prefix(PREFIX)?.split_whitespace();
        let pairs: BTreeMap<&str, &str> = words.filter_map(|word| word.split_once('=')).collect();
        let name = ["packageName", "lookupName", "depName", "image"]
            .into_iter()
            .find_map(|key| pairs.get(key))?;
        Some(Self {
            datasource: pairs.get("datasource").copied().unwrap_or("docker").to_owned(),
            name: (*name).to_owned(),
            registry: pairs.get("registryUrl").map(|url| (*url).to_owned()),
        })
    }

    /// Where the versions are listed.
    ///
    /// # Errors
    /// Nowhere that is known here.
    fn listing(&self) -> Result<Listing, NotFollowed> {
        let of = |kind, image: String| Ok(Listing { image, kind });
        let host = self
            .registry
            .as_deref()
            .map(|url| url.trim_end_matches('/').trim_start_matches("https://"));
        match (self.datasource.as_str(), host) {
            ("docker", _) => Ok(Listing::oci(self.name.as_str())),
            ("helm", Some(host)) => of(RepositoryKind::Helm, format!("{host}/{}", self.name)),
            ("github-tags" | "github-releases", _) => of(
                RepositoryKind::GitTags,
                format!("{}/{}", host.unwrap_or("github.com"), self.name),
            ),
            ("gitlab-tags" | "gitlab-releases", _) => of(
                RepositoryKind::GitTags,
                format!("{}/{}", host.unwrap_or("gitlab.com"), self.name),
            ),
            ("git-tags", _) => of(
                RepositoryKind::GitTags,
                self.name
                    .trim_start_matches("https://")
                    .trim_end_matches(".git")
                    .to_owned(),
            ),
            (other, _) => Err(NotFollowed(other.to_owned())),
        }
    }

    fn of(&self, value: &Node) -> Option<Raw> {
        let text = value.text()?;
        if self.datasource == "docker" && text.contains(':') {
            return reference(value);
        }
        let fields = BTreeMap::from([(value.span.start, Part::Tag)]);
        let is_version = !text.contains(['/', ':', ' ', '@']);
        let (listing, why_not) = match self.listing() {
            Ok(listing) if is_version => (listing, None),
            Ok(listing) => (
                listing,
                Some("the version is a part of the field, and a marker sets all of it".to_owned()),
            ),
            Err(why) => (Listing::oci(self.name.as_str()), Some(why.to_string())),
        };
        let mut raw = Raw::of(value, Part::Tag, listing, text, fields);
        raw.why_not = why_not;
        Some(raw)
    }
}
