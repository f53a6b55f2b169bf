//! Our own small document, for pipelines and unsupported forges:
//! `{"repository": URL, "ref": "refs/heads/main", "commit": ID}` or `{"image": "ghcr.io/o/app:1.0"}`.

use serde::Deserialize;

use super::Body;
use crate::image_name::tagged;
use crate::{Event, Image, Push, Rejection};

#[derive(Deserialize)]
struct Document {
    repository: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    commit: Option<String>,
    image: Option<String>,
    tag: Option<String>,
    digest: Option<String>,
}

pub(super) fn read(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let document: Document = body.parse()?;
    match (&document.repository, &document.image) {
        (Some(url), None) => document.push(body, url),
        (None, Some(image)) => document.image(body, image),
        _ => Err(body.invalid("give either \"repository\" or \"image\"")),
    }
}

impl Document {
    fn push(&self, body: &Body<'_>, url: &str) -> Result<Vec<Event>, Rejection> {
        if self.reference.as_deref().is_some_and(|name| !name.starts_with("refs/")) {
            return Err(body.invalid("\"ref\" must be a full name, such as refs/heads/main"));
        }
        let push = Push::new([url], self.reference.clone()).at(self.commit.clone());
        if push.addresses.is_empty() {
            Err(body.invalid("\"repository\" is not an address of a Git repository"))
        } else {
            Ok(vec![Event::Push(push)])
        }
    }

    fn image(&self, body: &Body<'_>, image: &str) -> Result<Vec<Event>, Rejection> {
        let written = tagged(image).ok_or_else(|| body.invalid("\"image\" is not an image name"))?;
        let tag = self.tag.clone().or(written.tag);
        let digest = self.digest.clone().or(written.digest);
        Ok(vec![Event::Image(Image {
            names: vec![written.name],
            tag,
            digest,
        })])
    }
}
