//! GitLab's events (*Webhook events*, *System hooks*). The type of an event is read from the body, since system hooks
//! have the same header for all types.

use serde::Deserialize;

use super::{Body, ignored};
use crate::{Event, Push, Rejection};

#[derive(Deserialize)]
struct Hook {
    object_kind: Option<String>,
    event_name: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
    project: Option<Project>,
    repository: Option<Repository>,
    object_attributes: Option<MergeRequest>,
    /// Changes of the system hook `repository_update`.
    #[serde(default)]
    changes: Changes,
}

/// A list for `repository_update`; an object for events that are not read here.
#[derive(Default, Deserialize)]
#[serde(untagged)]
enum Changes {
    List(Vec<Change>),
    Other(serde::de::IgnoredAny),
    #[default]
    None,
}

#[derive(Deserialize)]
struct Change {
    #[serde(rename = "ref")]
    reference: Option<String>,
    after: Option<String>,
}

#[derive(Deserialize)]
struct Project {
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    web_url: Option<String>,
}

/// The older form of the same.
#[derive(Deserialize)]
struct Repository {
    git_http_url: Option<String>,
    git_ssh_url: Option<String>,
    url: Option<String>,
    homepage: Option<String>,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: Option<u64>,
}

pub(super) fn read(body: &Body<'_>) -> Result<Vec<Event>, Rejection> {
    let hook: Hook = body.parse()?;
    let kind = hook.object_kind.as_deref().or(hook.event_name.as_deref());
    match kind.ok_or_else(|| body.lacks("object_kind"))? {
        "push" | "tag_push" => {
            let reference = hook.reference.clone().ok_or_else(|| body.lacks("ref"))?;
            Ok(vec![hook.push(body, reference, hook.after.clone())?])
        }
        "merge_request" => {
            let number = hook.object_attributes.as_ref().and_then(|request| request.iid);
            let number = number.ok_or_else(|| body.lacks("object_attributes.iid"))?;
            let push = |what| hook.push(body, format!("refs/merge-requests/{number}/{what}"), None);
            ["head", "merge"].into_iter().map(push).collect()
        }
        "repository_update" => {
            let Changes::List(changes) = &hook.changes else {
                return Err(body.lacks("changes"));
            };
            let named = changes
                .iter()
                .filter_map(|change| Some((change.reference.clone()?, change.after.clone())));
            named
                .map(|(reference, after)| hook.push(body, reference, after))
                .collect()
        }
        other => Ok(ignored(format_args!("event {other}"))),
    }
}

impl Hook {
    fn push(&self, body: &Body<'_>, reference: String, after: Option<String>) -> Result<Event, Rejection> {
        let project = self.project.iter();
        let project = project.flat_map(|of| [&of.git_http_url, &of.git_ssh_url, &of.web_url]);
        let repository = self.repository.iter();
        let repository = repository.flat_map(|of| [&of.git_http_url, &of.git_ssh_url, &of.url, &of.homepage]);
        let addresses = project.chain(repository).flatten().map(String::as_str);
        let push = Push::new(addresses, Some(reference)).at(after);
        if push.addresses.is_empty() {
            Err(body.lacks("project"))
        } else {
            Ok(Event::Push(push))
        }
    }
}
