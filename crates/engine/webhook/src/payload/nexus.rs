//! Nexus' events about components and assets (*Example headers and payloads*). They name the repository of Nexus but
//! not the host of its images, so any host matches.

use serde::Deserialize;

use super::{Body, ignored};
use crate::{Event, Image, ImageName, Rejection};

#[derive(Deserialize)]
struct Hook {
    action: Option<String>,
    #[serde(rename = "repositoryName")]
    repository_name: Option<String>,
    component: Option<Component>,
    asset: Option<Component>,
}

#[derive(Deserialize)]
struct Component {
    format: Option<String>,
    name: Option<String>,
    version: Option<String>,
}

pub(super) fn read(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let hook: Hook = body.parse()?;
    let action = hook.action.as_deref().ok_or_else(|| body.lacks("action"))?;
    if !matches!(action, "CREATED" | "UPDATED") {
        return Ok(ignored(format_args!("action {action}")));
    }
    let image = match (&hook.component, &hook.asset) {
        (Some(component), _) if component.is_image() => component.name.as_deref().zip(component.version.as_deref()),
        (None, Some(asset)) if asset.is_image() => asset.name.as_deref().and_then(manifest),
        (None, None) => return Err(body.lacks("component")),
        _ => None,
    };
    let Some((name, tag)) = image.filter(|(_, tag)| !tag.contains(':')) else {
        return Ok(ignored("not a tag of an image"));
    };
    let mut names: Vec<ImageName> = ImageName::at_any_registry(name).into_iter().collect();
    // With path-based routing the name of the repository is part of the image's name.
    let routed = hook.repository_name.map(|repository| format!("{repository}/{name}"));
    names.extend(routed.as_deref().and_then(ImageName::at_any_registry));
    Ok(vec![Event::Image(Image {
        names,
        tag: Some(tag.to_owned()),
        digest: None,
    })])
}

impl Component {
    fn is_image(&self) -> bool {
        self.format.as_deref() == Some("docker")
    }
}

/// Name and tag in `v2/NAME/manifests/TAG`.
fn manifest(asset: &str) -> Option<(&str, &str)> {
    asset
        .trim_start_matches('/')
        .strip_prefix("v2/")?
        .split_once("/manifests/")
}
