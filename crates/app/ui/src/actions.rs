//! What a person may change: as that person, never with the rights of this process. Each action is an event on its
//! object, with the name.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use bumpwright_api::{ObjectName, Reason};
use bumpwright_http_server::Body;
use bumpwright_kube::{Cluster, ClusterError, IMAGE_POLICY, KUSTOMIZATION, Kind, Object};
use bumpwright_overview::Id;
use bumpwright_pages::Action;
use bumpwright_policy::{FAILED_VERSIONS, FailedVersions};
use bumpwright_runtime::{EventType, REQUESTED_AT, clock, events};

use super::auth::Person;
use super::call::{Call, back};
use super::kinds::KINDS;
use super::reply;
use super::server::Ui;

const MANAGER: &str = "bumpwright-ui";

/// The controller in the events.
const CONTROLLER: &str = "bumpwright-ui";

/// The reason of Ready when a prune was refused.
const PRUNE_REFUSED: &str = "PruneRefused";

/// The annotation with the revision whose prune is approved.
const APPROVE: &str = "bumpwright.dev/approve-prune";

/// Why nothing was done.
#[derive(Debug)]
pub(super) struct NotDone {
    pub(super) status: StatusCode,
    pub(super) why: String,
}

impl NotDone {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        let why = why.into();
        Self { status, why }
    }
}

impl From<ClusterError> for NotDone {
    fn from(error: ClusterError) -> Self {
        let status = match &error {
            error if error.is_forbidden() => StatusCode::FORBIDDEN,
            error if error.is_not_found() => StatusCode::NOT_FOUND,
            ClusterError::Conflict(_) => StatusCode::CONFLICT,
            _ => StatusCode::BAD_GATEWAY,
        };
        Self::new(status, error.to_string())
    }
}

/// Does what a form asks for. The form is known to be this person's.
pub(super) async fn act(ui: &Ui, call: &Call, person: &Person) -> Result<Response<Body>, NotDone> {
    if !ui.settings.actions {
        return Err(NotDone::new(StatusCode::FORBIDDEN, "actions are off (--ui-actions)"));
    }
    let unknown = || NotDone::new(StatusCode::BAD_REQUEST, "there is no such action for this kind");
    let action = Action::parse(&call.field("action")).ok_or_else(unknown)?;
    let kind = KINDS
        .into_iter()
        .find(|kind| kind.kind == *call.field("kind"))
        .ok_or_else(unknown)?;
    let change = Change::of(action, kind).ok_or_else(unknown)?;
    let name = ObjectName::new(&*call.field("namespace"), &*call.field("name"));
    // What a person does not see is not there.
    let view = ui.view(person).await;
    let is_seen = view.world.readiness(&Id::new(kind.kind, name.clone())).is_some();
    drop(view);
    if !is_seen {
        return Err(NotDone::new(
            StatusCode::NOT_FOUND,
            "there is no such object, or you may not see it",
        ));
    }
    let cluster = match &person.user {
        Some(user) => ui.cluster.as_user(user)?,
        None => ui.cluster.clone(),
    };
    let kind = ui.watches.find(kind).unwrap_or(kind);
    let object = change.make(&cluster, kind, &name, &call.field("version")).await?;
    tell(ui, person, kind, &object, action);
    let back = call.field("back");
    let back = self::back(&back);
    let (path, _) = back.split_once('?').unwrap_or((back, ""));
    Ok(reply::see_other(&format!("{path}?done={}", action.word())))
}

/// What an action did, for the page after it.
pub(super) fn notice(word: &str) -> Option<&'static str> {
    Some(match Action::parse(word)? {
        Action::Reconcile => "A reconciliation is requested.",
        Action::Suspend => "It is suspended.",
        Action::Resume => "It is resumed.",
        Action::Release => "What was held since it failed is released.",
        Action::ApprovePrune => "The prune is approved.",
    })
}

/// A change of an object.
enum Change {
    Requested,
    Suspended(bool),
    Released,
    PruneApproved,
}

impl Change {
    /// None where the kind has no such action.
    fn of(action: Action, kind: &Kind) -> Option<Self> {
        let is_reconciled = kind.kind != "ExternalArtifact";
        match action {
            Action::Reconcile if is_reconciled => Some(Self::Requested),
            Action::Suspend if is_reconciled => Some(Self::Suspended(true)),
            Action::Resume if is_reconciled => Some(Self::Suspended(false)),
            Action::Release if kind == &IMAGE_POLICY => Some(Self::Released),
            Action::ApprovePrune if kind == &KUSTOMIZATION => Some(Self::PruneApproved),
            _ => None,
        }
    }

    async fn make(
        &self,
        cluster: &Cluster,
        kind: &'static Kind,
        name: &ObjectName,
        version: &str,
    ) -> Result<Object, NotDone> {
        let requested = || json!({ REQUESTED_AT: clock::exact(&clock::now()) });
        let patch = match self {
            Self::Requested => json!({"metadata": {"annotations": requested()}}),
            Self::Suspended(true) => json!({"spec": {"suspend": true}}),
            // As `flux resume`, it is reconciled at once.
            Self::Suspended(false) => json!({"spec": {"suspend": false}, "metadata": {"annotations": requested()}}),
            Self::PruneApproved => approved(&cluster.get(kind, name).await?)?,
            Self::Released => released(&cluster.get(kind, name).await?, version)?,
        };
        let object = cluster.patch(kind, name, MANAGER, &patch).await?;
        let is_suspended = || object.field("spec").get("suspend").and_then(Value::as_bool) == Some(true);
        if matches!(self, Self::Suspended(true)) && !is_suspended() {
            // Definitions of older versions drop the field.
            let why = format!(
                "the {} of this cluster, {}, has no spec.suspend",
                kind.kind,
                kind.api_version()
            );
            return Err(NotDone::new(StatusCode::CONFLICT, why));
        }
        Ok(object)
    }
}

/// With an approval of the prune that its Ready condition tells of, which names the revision.
fn approved(kustomization: &Object) -> Result<Value, NotDone> {
    let status = kustomization.status();
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let refused = conditions.filter(|one| one.get("type").and_then(Value::as_str) == Some("Ready"));
    let mut refused = refused.filter(|one| one.get("reason").and_then(Value::as_str) == Some(PRUNE_REFUSED));
    let message = refused.next().and_then(|one| one.get("message")?.as_str());
    let revision = message.and_then(|message| message.rsplit_once(&format!("{APPROVE}: ")));
    let revision = revision
        .map(|(_, revision)| revision.trim())
        .filter(|revision| !revision.contains(char::is_whitespace));
    let revision = revision.ok_or_else(|| NotDone::new(StatusCode::CONFLICT, "no prune waits for an approval"))?;
    Ok(json!({"metadata": {
        "resourceVersion": kustomization.resource_version,
        "annotations": {APPROVE: revision},
    }}))
}

/// Without a version that failed, or without all of them.
fn released(policy: &Object, version: &str) -> Result<Value, NotDone> {
    let held = FailedVersions::of(&policy.annotations);
    let remaining = match version {
        "" => FailedVersions::default(),
        version => held.without(&[version.to_owned()]),
    };
    if remaining == held {
        return Err(NotDone::new(StatusCode::CONFLICT, "nothing is held any more"));
    }
    Ok(json!({"metadata": {
        "resourceVersion": policy.resource_version,
        "annotations": {FAILED_VERSIONS: remaining.text()},
    }}))
}

/// Tells who did it: an event on the object, and a line in the log.
fn tell(ui: &Ui, person: &Person, kind: &'static Kind, object: &Object, action: Action) {
    let who = match person.name() {
        "" => "somebody who is not asked for a name",
        name => name,
    };
    let message = format!("{who} asked for it in the browser: {}", action.word());
    let log = ui
        .log
        .with("object", format!("{}/{}", kind.kind, object.name))
        .with("person", who);
    log.info(&format!("action: {}", action.word()));
    let reason = Reason::ActionRequested.as_str();
    (ui.announce)(events::event(
        object,
        kind,
        CONTROLLER,
        bumpwright_runtime::Action::Reconcile,
        (EventType::Normal, reason, message),
    ));
}
