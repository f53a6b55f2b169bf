//! Bitbucket's events: those of the cloud (*Event payloads*, `repo:push`) and those of the Data
//! Center (*Event payload*, `repo:refs_changed`).

use serde::Deserialize;

use super::{Body, ignored};
use crate::{Address, Event, Push, Rejection};

const CLOUD: &str = "https://bitbucket.org";

#[derive(Deserialize)]
struct CloudPush {
    push: Option<CloudChanges>,
    repository: Option<CloudRepository>,
}

#[derive(Deserialize)]
struct CloudChanges {
    changes: Option<Vec<CloudChange>>,
}

#[derive(Deserialize)]
struct CloudChange {
    old: Option<CloudReference>,
    new: Option<CloudReference>,
}

#[derive(Deserialize)]
struct CloudReference {
    #[serde(rename = "type")]
    kind: Option<String>,
    name: Option<String>,
    target: Option<CloudCommit>,
}

#[derive(Deserialize)]
struct CloudCommit {
    hash: Option<String>,
}

#[derive(Deserialize)]
struct CloudRepository {
    full_name: Option<String>,
}

#[derive(Deserialize)]
struct RefsChanged {
    changes: Option<Vec<Change>>,
    repository: Option<Repository>,
}

#[derive(Deserialize)]
struct Change {
    #[serde(rename = "ref")]
    reference: Option<Reference>,
    #[serde(rename = "toHash")]
    to_hash: Option<String>,
}

#[derive(Deserialize)]
struct Reference {
    id: Option<String>,
}

#[derive(Deserialize)]
struct Repository {
    slug: Option<String>,
    project: Option<Project>,
    links: Option<Links>,
}

#[derive(Deserialize)]
struct Project {
    key: Option<String>,
}

#[derive(Deserialize)]
struct Links {
    clone: Option<Vec<Link>>,
}

#[derive(Deserialize)]
struct Link {
    href: Option<String>,
}

pub(super) fn read(body: &Body<'_>, key: &str) -> Result<Vec<Event>, Rejection> {
    match key {
        "repo:push" => cloud(body),
        "repo:refs_changed" | "mirror:repo_synchronized" => data_center(body),
        "diagnostics:ping" => Ok(vec![Event::Ping]),
        "" => Err(body.invalid("the header X-Event-Key is missing")),
        other => Ok(ignored(format_args!("event {other}"))),
    }
}

/// A change without `new` is a deletion.
fn cloud(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: CloudPush = body.parse()?;
    let name = event.repository.and_then(|repository| repository.full_name);
    let address = format!("{CLOUD}/{}", name.ok_or_else(|| body.lacks("repository.full_name"))?);
    let changes = event
        .push
        .and_then(|push| push.changes)
        .ok_or_else(|| body.lacks("push.changes"))?;
    let push = |change: CloudChange| {
        let commit = change.new.as_ref().and_then(|new| new.target.as_ref()?.hash.clone());
        let reference = change.new.or(change.old)?.full_name();
        Some(Event::Push(Push::new([address.as_str()], reference).at(commit)))
    };
    Ok(changes.into_iter().filter_map(push).collect())
}

impl CloudReference {
    fn full_name(self) -> Option<String> {
        let name = self.name?;
        match self.kind.as_deref() {
            Some("tag" | "annotated_tag") => Some(format!("refs/tags/{name}")),
            _ => Some(format!("refs/heads/{name}")),
        }
    }
}

fn data_center(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let event: RefsChanged = body.parse()?;
    let addresses = event.repository.ok_or_else(|| body.lacks("repository"))?.addresses();
    if addresses.is_empty() {
        return Err(body.lacks("repository.links.clone"));
    }
    let push = |change: Change| {
        let reference = change.reference.and_then(|reference| reference.id);
        let push = Push {
            addresses: addresses.clone(),
            reference,
            commit: None,
        };
        Event::Push(push.at(change.to_hash))
    };
    Ok(event.changes.into_iter().flatten().map(push).collect())
}

impl Repository {
    /// Older versions do not send their address: then project and name stand for a repository at any host.
    fn addresses(self) -> Vec<Address> {
        let links = self.links.and_then(|links| links.clone);
        let links = links.into_iter().flatten().filter_map(|link| link.href);
        let push = Push::new(links.collect::<Vec<_>>().iter().map(String::as_str), None);
        match (
            push.addresses.is_empty(),
            self.project.and_then(|project| project.key),
            self.slug,
        ) {
            (true, Some(project), Some(name)) => {
                let paths = [format!("scm/{project}/{name}"), format!("{project}/{name}")];
                paths.iter().filter_map(|path| Address::at_any_host(path)).collect()
            }
            _ => push.addresses,
        }
    }
}
