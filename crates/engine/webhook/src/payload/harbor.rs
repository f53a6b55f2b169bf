//! Harbor's events (*Configure Webhook Notifications*), in its own form and as CloudEvents.

use serde::Deserialize;

use super::{Body, ignored};
use crate::image_name::tagged;
use crate::{Event, Image, Rejection};

#[derive(Deserialize)]
struct Notification {
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(alias = "data")]
    event_data: Option<Data>,
}

#[derive(Deserialize)]
struct Data {
    resources: Option<Vec<Resource>>,
}

#[derive(Deserialize)]
struct Resource {
    resource_url: Option<String>,
    tag: Option<String>,
    digest: Option<String>,
}

pub(super) fn read(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: Notification = body.parse()?;
    match event.kind.as_deref() {
        Some("PUSH_ARTIFACT" | "harbor.artifact.pushed") => {
            let resources = event.event_data.and_then(|data| data.resources);
            let resources = resources.ok_or_else(|| body.lacks("event_data.resources"))?;
            Ok(resources
                .into_iter()
                .filter_map(Resource::image)
                .map(Event::Image)
                .collect())
        }
        Some(other) => Ok(ignored(format_args!("event {other}"))),
        None => Err(body.lacks("type")),
    }
}

impl Resource {
    /// The image; `None` without a tag, in place of which Harbor writes the digest.
    fn image(self) -> Option<Image> {
        let written = tagged(self.resource_url.as_deref()?)?;
        let tag = self
            .tag
            .filter(|tag| !tag.is_empty() && !tag.contains(':'))
            .or(written.tag)?;
        Some(Image {
            names: vec![written.name],
            tag: Some(tag),
            digest: self.digest,
        })
    }
}
