//! GitHub's events (*Webhook events and payloads*); Gitea writes those about repositories in the same way.

use serde::Deserialize;

use super::{Body, ignored, null_as_empty};
use crate::{Event, Image, ImageName, Push, Rejection};

const HOST_OF_PACKAGES: &str = "ghcr.io";

/// The fields of the events `push`, `create`, `delete` and `pull_request`.
#[derive(Deserialize)]
struct Change {
    #[serde(rename = "ref")]
    reference: Option<String>,
    ref_type: Option<String>,
    after: Option<String>,
    number: Option<u64>,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Repository {
    clone_url: Option<String>,
    ssh_url: Option<String>,
    git_url: Option<String>,
    html_url: Option<String>,
}

/// The fields of the events `package` and `registry_package`.
#[derive(Deserialize)]
struct PackageEvent {
    #[serde(default, deserialize_with = "null_as_empty")]
    action: String,
    #[serde(alias = "registry_package")]
    package: Option<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: Option<String>,
    namespace: Option<String>,
    #[serde(default, deserialize_with = "null_as_empty")]
    package_type: String,
    package_version: Option<PackageVersion>,
}

#[derive(Deserialize)]
struct PackageVersion {
    package_url: Option<String>,
    container_metadata: Option<ContainerMetadata>,
}

#[derive(Deserialize)]
struct ContainerMetadata {
    tag: Option<ContainerTag>,
}

#[derive(Deserialize)]
struct ContainerTag {
    name: Option<String>,
    digest: Option<String>,
}

pub(super) fn read(body: &Body<'_>, kind: &str) -> Result<Vec<Event>, Rejection> {
    match kind {
        "package" | "registry_package" => package(body),
        _ => repository(body, kind),
    }
}

/// The events about Git.
pub(super) fn repository(body: &Body<'_>, kind: &str) -> Result<Vec<Event>, Rejection> {
    match kind {
        "ping" => Ok(vec![Event::Ping]),
        "push" | "create" | "delete" | "pull_request" | "pull_request_sync" => {
            let change: Change = body.parse()?;
            let pushes = match kind {
                "push" => vec![change.reference.clone().ok_or_else(|| body.lacks("ref"))?],
                "create" | "delete" => vec![change.full_name().ok_or_else(|| body.lacks("ref"))?],
                _ => change.of_pull_request().ok_or_else(|| body.lacks("number"))?,
            };
            let repository = change.repository.ok_or_else(|| body.lacks("repository"))?;
            let after = change.after.filter(|_| kind == "push");
            let push = |reference| Event::Push(repository.push(reference).at(after.clone()));
            Ok(pushes.into_iter().map(push).collect())
        }
        "" => Err(body.invalid("the header with the event's name is missing")),
        other => Ok(ignored(format_args!("event {other}"))),
    }
}

impl Change {
    /// The full name; `create` and `delete` have a short name and its type.
    fn full_name(&self) -> Option<String> {
        let name = self.reference.as_deref()?;
        match self.ref_type.as_deref() {
            _ if name.starts_with("refs/") => Some(name.to_owned()),
            Some("tag") => Some(format!("refs/tags/{name}")),
            _ => Some(format!("refs/heads/{name}")),
        }
    }

    fn of_pull_request(&self) -> Option<Vec<String>> {
        let number = self.number?;
        Some(
            ["head", "merge"]
                .map(|what| format!("refs/pull/{number}/{what}"))
                .to_vec(),
        )
    }
}

impl Repository {
    fn push(&self, reference: String) -> Push {
        let addresses = [&self.clone_url, &self.ssh_url, &self.git_url, &self.html_url];
        Push::new(addresses.into_iter().flatten().map(String::as_str), Some(reference))
    }
}

/// An image at `ghcr.io`. The URL with the tag is preferred, since an Enterprise Server has another host.
fn package(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: PackageEvent = body.parse()?;
    let package = event.package.ok_or_else(|| body.lacks("package"))?;
    let kind = package.package_type;
    if !kind.eq_ignore_ascii_case("container") {
        return Ok(ignored(format_args!("package of type {kind}")));
    }
    let action = event.action;
    if !matches!(action.as_str(), "published" | "updated") {
        return Ok(ignored(format_args!("package {action}")));
    }
    let version = package.package_version.ok_or_else(|| body.lacks("package_version"))?;
    let tag = version.container_metadata.and_then(|metadata| metadata.tag);
    let (tag, digest) = tag.map_or((None, None), |tag| (tag.name, tag.digest));
    let url = version.package_url.filter(|url| !url.trim().is_empty());
    let name = match (url, package.namespace, package.name) {
        (Some(url), ..) => ImageName::parse(&url),
        (None, Some(namespace), Some(name)) => ImageName::at(HOST_OF_PACKAGES, &format!("{namespace}/{name}")),
        _ => None,
    };
    let names = vec![name.ok_or_else(|| body.lacks("package_url"))?];
    let tag = tag.filter(|tag| !tag.is_empty());
    Ok(vec![Event::Image(Image { names, tag, digest })])
}
