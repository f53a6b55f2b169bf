//! Notifications of CNCF distribution, which many registries are based on, and Azure's, which send one without a list.

use serde::Deserialize;

use super::{Body, ignored};
use crate::{Event, Image, ImageName, Rejection};

#[derive(Deserialize)]
struct Envelope {
    events: Option<Vec<Notification>>,
}

#[derive(Deserialize)]
struct Notification {
    action: Option<String>,
    target: Option<Target>,
    request: Option<Origin>,
}

#[derive(Deserialize)]
struct Target {
    repository: Option<String>,
    tag: Option<String>,
    digest: Option<String>,
    url: Option<String>,
}

#[derive(Deserialize)]
struct Origin {
    host: Option<String>,
}

pub(super) fn registry(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let envelope: Envelope = body.parse()?;
    let events = envelope.events.ok_or_else(|| body.lacks("events"))?;
    Ok(events
        .into_iter()
        .filter_map(Notification::image)
        .map(Event::Image)
        .collect())
}

pub(super) fn acr(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: Notification = body.parse()?;
    match event.action.as_deref() {
        Some("ping") => Ok(vec![Event::Ping]),
        Some("push") => Ok(event.image().map(Event::Image).into_iter().collect()),
        Some(other) => Ok(ignored(format_args!("action {other}"))),
        None => Err(body.lacks("action")),
    }
}

impl Notification {
    /// The image, if this is a push of a tag: layers and the parts of a multi-platform image have none.
    ///
    /// The registry reports the host of the request, which may differ from that of `spec.image`; so all hosts
    /// that it names count.
    fn image(self) -> Option<Image> {
        let target = self.target.filter(|_| self.action.as_deref() == Some("push"))?;
        let tag = target.tag.filter(|tag| !tag.is_empty())?;
        let path = target.repository?;
        let of_url = target
            .url
            .as_deref()
            .and_then(|url| url.split_once("://")?.1.split('/').next());
        let of_request = self.request.as_ref().and_then(|request| request.host.as_deref());
        let mut names: Vec<ImageName> = Vec::new();
        for name in [of_url, of_request]
            .into_iter()
            .flatten()
            .filter_map(|host| ImageName::at(host, &path))
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            names.push(ImageName::at_any_registry(&path)?);
        }
        Some(Image {
            names,
            tag: Some(tag),
            digest: target.digest,
        })
    }
}
