//! Gitea's and Forgejo's events: GitHub's for repositories, their own for packages.

use serde::Deserialize;
use url::Url;

use super::{Body, github, ignored, null_as_empty};
use crate::{Event, Image, ImageName, Rejection};

#[derive(Deserialize)]
struct PackageEvent {
    #[serde(default, deserialize_with = "null_as_empty")]
    action: String,
    package: Option<Package>,
}

#[derive(Deserialize)]
struct Package {
    #[serde(rename = "type", default, deserialize_with = "null_as_empty")]
    kind: String,
    name: Option<String>,
    version: Option<String>,
    html_url: Option<String>,
    owner: Option<Owner>,
}

#[derive(Deserialize)]
struct Owner {
    login: Option<String>,
}

pub(super) fn read(body: &Body<'_>, kind: &str) -> Result<Vec<Event>, Rejection> {
    match kind {
        "package" => package(body),
        _ => github::repository(body, kind),
    }
}

/// The registry is at the forge's own host; a version that is a digest is part of an image that is tagged later.
fn package(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: PackageEvent = body.parse()?;
    let package = event.package.ok_or_else(|| body.lacks("package"))?;
    let (kind, action) = (package.kind, event.action);
    if kind != "container" || action != "created" {
        return Ok(ignored(format_args!("package of type {kind} {action}")));
    }
    let tag = package.version.ok_or_else(|| body.lacks("package.version"))?;
    if tag.contains(':') {
        return Ok(ignored("image without a tag"));
    }
    let name = package.name.ok_or_else(|| body.lacks("package.name"))?;
    let owner = package.owner.and_then(|owner| owner.login);
    let owner = owner.ok_or_else(|| body.lacks("package.owner.login"))?;
    let page = package.html_url.as_deref().and_then(|page| Url::parse(page).ok());
    let path = format!("{owner}/{name}");
    let name = match page.as_ref().and_then(registry_of) {
        Some(registry) => ImageName::at(&registry, &path),
        None => ImageName::at_any_registry(&path),
    };
    let names = vec![name.ok_or_else(|| body.invalid("package.name is not an image name"))?];
    Ok(vec![Event::Image(Image {
        names,
        tag: Some(tag),
        digest: None,
    })])
}

fn registry_of(page: &Url) -> Option<String> {
    let host = page.host_str()?;
    Some(
        page.port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")),
    )
}
