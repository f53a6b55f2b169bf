//! Registries that are services: Docker Hub (*Webhooks*), Quay (*Repository notifications*), Google's (*Configuring
//! Pub/Sub notifications*).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::{Body, ignored, null_as_empty};
use crate::image_name::tagged;
use crate::{Event, Image, ImageName, MAX_EVENTS, Rejection};

#[derive(Deserialize)]
struct HubPush {
    push_data: Option<HubTag>,
    repository: Option<HubRepository>,
}

#[derive(Deserialize)]
struct HubTag {
    tag: Option<String>,
}

#[derive(Deserialize)]
struct HubRepository {
    repo_name: Option<String>,
}

#[derive(Deserialize)]
struct QuayPush {
    docker_url: Option<String>,
    updated_tags: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Delivery {
    message: Option<Message>,
}

#[derive(Deserialize)]
struct Message {
    data: Option<String>,
}

#[derive(Deserialize)]
struct GooglePush {
    #[serde(default, deserialize_with = "null_as_empty")]
    action: String,
    digest: Option<String>,
    tag: Option<String>,
}

/// `callback_url` is not called, since the sender chooses it.
pub(super) fn dockerhub(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: HubPush = body.parse()?;
    let name = event.repository.and_then(|repository| repository.repo_name);
    let name = name.and_then(|name| ImageName::at("docker.io", &name));
    let names = vec![name.ok_or_else(|| body.lacks("repository.repo_name"))?];
    let tag = event.push_data.and_then(|push| push.tag).filter(|tag| !tag.is_empty());
    Ok(vec![Event::Image(Image {
        names,
        tag,
        digest: None,
    })])
}

pub(super) fn quay(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: QuayPush = body.parse()?;
    let name = event.docker_url.as_deref().and_then(ImageName::parse);
    let names = vec![name.ok_or_else(|| body.lacks("docker_url"))?];
    let tags = event.updated_tags.ok_or_else(|| body.lacks("updated_tags"))?;
    let image = |tag| {
        Event::Image(Image {
            names: names.clone(),
            tag: Some(tag),
            digest: None,
        })
    };
    // One more than allowed is enough for the rejection; each is a copy of the name.
    Ok(tags.into_iter().take(MAX_EVENTS + 1).map(image).collect())
}

pub(super) fn gcr(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let delivery: Delivery = body.parse()?;
    let data = delivery.message.and_then(|message| message.data);
    let data = data.ok_or_else(|| body.lacks("message.data"))?;
    let data = STANDARD
        .decode(data)
        .map_err(|_| body.invalid("message.data is not base64"))?;
    let event: GooglePush = body.parse_part(&data)?;
    let action = event.action;
    let Some(tag) = event.tag.filter(|_| action == "INSERT") else {
        return Ok(ignored(format_args!("{action} without a tag")));
    };
    let written = tagged(&tag).ok_or_else(|| body.invalid("tag is not an image name"))?;
    let digest = event.digest.as_deref().and_then(tagged).and_then(|named| named.digest);
    Ok(vec![Event::Image(Image {
        names: vec![written.name],
        tag: written.tag,
        digest,
    })])
}
