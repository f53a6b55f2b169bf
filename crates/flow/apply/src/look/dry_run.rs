//! The dry run of one object: what applying would change, and whether it is needed.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::change::{Action, Change};
use super::drift::has_drifted;
use super::managers::{self, Manager};
use crate::error::{ApplyError, Cause, Refusal};
use crate::object::ignore::{IgnoreRules, without};
use crate::object::item::Item;
use crate::object::metadata::{FORCE_ENABLED, RECONCILE_DISABLED, SSA_IF_NOT_PRESENT, SSA_IGNORE, SSA_MERGE};
use crate::object::normalize::is_typed;
use crate::object::unknown_fields::drop_unknown;
use crate::settings::Settings;
use bumpwright_api::ObjectId;
use bumpwright_json::Texts;
use bumpwright_kube::{Answered, Apply, Cluster, ClusterError, GroupVersionKind, Resource};
use bumpwright_re2::{Budget, Regexp};

/// The action to take on an object.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// None: it is unchanged.
    Known(Change),
    /// Apply it, and see then whether that changed it; with the server's object.
    Attempt(Option<Answered<Value>>),
    /// None; the server's version is unknown.
    Keep(Change, Option<Version>),
    Write(Box<Plan>),
    /// Delete and recreate it: immutable fields change.
    Replace(Refusal),
}

/// How an object is applied.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) change: Change,
    /// Patches to apply first, and the server's object.
    pub(crate) cleanup: Vec<Value>,
    pub(crate) existing: Option<Answered<Value>>,
    /// The result of the dry run, when there are ignored fields.
    pub(crate) yields: Option<Yield>,
}

#[derive(Debug)]
pub(crate) struct Yield {
    pub(crate) dry_run: Answered<Value>,
    pub(crate) paths: Vec<String>,
}

/// State shared by all objects of an apply.
pub(crate) struct Looker<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) settings: &'a Settings,
    pub(crate) rules: IgnoreRules,
    pub(crate) managers: Vec<Manager>,
    /// OpenAPI documents already fetched, by group and version.
    documents: Mutex<BTreeMap<String, Option<Arc<Answered<Value>>>>>,
}

/// The step that a refusal of the server is about.
const TAKE_OVER: &str = "failed to take over the field managers of --override-manager-before-dry-run";

/// How long a kind may take to be served after its definition is established.
pub(crate) const SERVED: Duration = Duration::from_secs(10);
pub(crate) const PAUSE: Duration = Duration::from_millis(100);

/// Returns whether the object is to be left alone.
fn is_excluded(object: &Value) -> bool {
    RECONCILE_DISABLED.is_in(object) || SSA_IGNORE.is_in(object)
}

impl<'a> Looker<'a> {
    pub(crate) fn new(cluster: &'a Cluster, settings: &'a Settings) -> Result<Self, ApplyError> {
        Ok(Self {
            cluster,
            settings,
            rules: IgnoreRules::of(&settings.ignore)?,
            managers: managers::replaced(&settings.manager, &settings.override_managers),
            documents: Mutex::default(),
        })
    }

    /// The server's object; None when it does not exist, or may not be read by the account.
    async fn existing(&self, item: &Item, resource: &Resource) -> Result<Option<Answered<Value>>, Refusal> {
        match self.cluster.fetch(resource, &item.id.name).await {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() || error.reason() == "Forbidden" => Ok(None),
            Err(error) => Err(refusal(item, &error)),
        }
    }

    /// Compares an object. `is_new_kind`: its kind was defined moments ago.
    pub(crate) async fn look(
        &self,
        item: &mut Item,
        resource: &Resource,
        is_new_kind: bool,
    ) -> Result<Verdict, Refusal> {
        if is_excluded(&item.object) {
            let existing = self.existing(item, resource).await?;
            return Ok(skipped(item, existing.as_deref()));
        }
        let mut patched = false;
        if SSA_IF_NOT_PRESENT.is_in(&item.object) || self.patches_managers() {
            let existing = self.existing(item, resource).await?;
            let is_there = existing.is_some();
            if is_there && (SSA_IF_NOT_PRESENT.is_in(&item.object) || existing.as_deref().is_some_and(is_excluded)) {
                return Ok(skipped(item, existing.as_deref()));
            }
            patched = self.patch_managers(item, resource, existing.as_deref()).await?;
        }
        if !self.settings.dry_run {
            let existing = self.existing(item, resource).await?;
            return Ok(if existing.as_deref().is_some_and(is_excluded) {
                skipped(item, existing.as_deref())
            } else {
                Verdict::Attempt(existing)
            });
        }
        let dry_run = match self.try_dry_run(item, resource, is_new_kind).await {
            Ok(dry_run) => dry_run,
            Err(error) => {
                if error.is_unserved() {
                    self.cluster.forget_kind(&item.gvk);
                }
                return self.refused(item, resource, &error).await;
            }
        };
        if resource_version(&dry_run).is_empty() {
            return Ok(write(item, &dry_run, Action::Created));
        }
        let existing = self.existing(item, resource).await?;
        if existing.as_deref().is_some_and(is_excluded) {
            return Ok(skipped(item, existing.as_deref()));
        }
        Ok(self.compare(item, existing, dry_run, patched))
    }

    /// Whether the server would take an object; nothing is compared.
    pub(crate) async fn admits(&self, item: &mut Item, resource: &Resource) -> Result<(), Refusal> {
        if is_excluded(&item.object) {
            return Ok(());
        }
        if SSA_IF_NOT_PRESENT.is_in(&item.object) && self.existing(item, resource).await?.is_some() {
            return Ok(());
        }
        let Err(error) = self.try_dry_run(item, resource, false).await else {
            return Ok(());
        };
        if error.is_unserved() {
            self.cluster.forget_kind(&item.gvk);
        }
        match self.refused(item, resource, &error).await? {
            Verdict::Replace(refusal) => self.admits_replacement(item, resource, refusal).await,
            _ => Ok(()),
        }
    }

    /// Whether the server would take an object after the one of before is deleted, which a dry run cannot do. It is
    /// asked about a copy under another name: what it says of that as well is not about immutable fields.
    async fn admits_replacement(&self, item: &Item, resource: &Resource, refusal: Refusal) -> Result<(), Refusal> {
        let own = &item.id.name.name;
        let name = format!("{own}-anew");
        let mut copy = Item {
            object: item.object.clone(),
            id: item.id.clone(),
            gvk: item.gvk.clone(),
            origin: None,
            digest: item.digest,
            resource: None,
            dropped: Vec::new(),
        };
        copy.id.name.name.clone_from(&name);
        if let Some(field) = copy.object.pointer_mut("/metadata/name") {
            *field = Value::String(name.clone());
        }
        match self.dry_run(&copy, resource).await {
            Err(error) if refusal.message.ends_with(&error.to_string().replace(&name, own)) => Err(refusal),
            _ => Ok(()),
        }
    }

    /// Decides from the server's object and the dry run.
    fn compare(
        &self,
        item: &Item,
        existing: Option<Answered<Value>>,
        dry_run: Answered<Value>,
        patched: bool,
    ) -> Verdict {
        let Some(existing) = existing else {
            // It exists and cannot be read, or was deleted just now.
            return write(item, &dry_run, Action::Configured);
        };
        let cleanup = self.cleanup(item, &existing);
        let paths = self.rules.paths(&dry_run);
        let drifted = if paths.is_empty() {
            has_drifted(&existing, &dry_run)
        } else {
            has_drifted(&without(&existing, &paths), &without(&dry_run, &paths))
        };
        if !patched && cleanup.is_empty() && !drifted {
            let is_same = resource_version(&existing) == resource_version(&dry_run);
            let change = change(item, &dry_run, Action::Unchanged);
            // If somebody wrote in between, the up-to-date version is unknown.
            let version = is_same.then(|| Version::of(&existing)).flatten();
            return Verdict::Keep(change, version);
        }
        let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
        Verdict::Write(Box::new(Plan {
            change: change(item, &dry_run, Action::Configured),
            existing: (!paths.is_empty() || !cleanup.is_empty()).then_some(existing),
            cleanup,
            yields: (!paths.is_empty()).then_some(Yield { dry_run, paths }),
        }))
    }

    /// The fields and managers to remove first, unless the object asks to keep them.
    pub(crate) fn cleanup(&self, item: &Item, existing: &Value) -> Vec<Value> {
        if SSA_MERGE.is_in(&item.object) || SSA_MERGE.is_in(existing) {
            Vec::new()
        } else {
            managers::cleanup(existing, &self.settings.manager, &self.managers)
        }
    }

    /// Returns whether a just applied object is final, or still has leftovers to remove.
    pub(crate) fn is_settled(&self, item: &Item, applied: &Value) -> bool {
        self.cleanup(item, applied).is_empty()
    }

    /// Sends the dry run, again without unknown fields, or while its kind is not served yet.
    async fn try_dry_run(
        &self,
        item: &mut Item,
        resource: &Resource,
        is_new_kind: bool,
    ) -> Result<Answered<Value>, ClusterError> {
        let end = Instant::now() + SERVED;
        loop {
            match self.dry_run(item, resource).await {
                Err(error) if is_new_kind && error.is_unserved() && Instant::now() < end => {
                    tokio::time::sleep(PAUSE).await;
                }
                Err(error) if self.drop_unknown(item, &error).await? => {
                    let answer = self.dry_run(item, resource).await;
                    // If more is wrong, Go's types would not have read the object, and everything is reported.
                    return answer.map_err(|other| if other.reason().is_empty() { error } else { other });
                }
                answer => return answer,
            }
        }
    }

    pub(crate) async fn dry_run(&self, item: &Item, resource: &Resource) -> Result<Answered<Value>, ClusterError> {
        let how = Apply {
            manager: &self.settings.manager,
            dry_run: true,
        };
        self.cluster
            .apply_object(resource, &item.id.name, &item.object, how)
            .await
    }

    /// Removes the fields that a built-in kind does not have; returns whether there were any.
    async fn drop_unknown(&self, item: &mut Item, error: &ClusterError) -> Result<bool, ClusterError> {
        let is_unknown = error.to_string().contains("field not declared in schema");
        if !is_unknown || self.settings.strict_fields || !is_typed(&item.gvk) {
            return Ok(false);
        }
        let Some(document) = self.document(&item.gvk).await? else {
            return Ok(false);
        };
        let dropped = drop_unknown(&mut item.object, &item.gvk, &document);
        let is_any = !dropped.is_empty();
        item.dropped.extend(dropped);
        Ok(is_any)
    }

    async fn document(&self, gvk: &GroupVersionKind) -> Result<Option<Arc<Answered<Value>>>, ClusterError> {
        let mut documents = self.documents.lock().await;
        if let Some(document) = documents.get(&gvk.api_version()) {
            return Ok(document.clone());
        }
        let document = self.cluster.open_api(gvk).await?.map(Arc::new);
        documents.insert(gvk.api_version(), document.clone());
        Ok(document)
    }

    /// The dry run was refused: the object may ask to be left alone, or can be recreated.
    async fn refused(&self, item: &Item, resource: &Resource, error: &ClusterError) -> Result<Verdict, Refusal> {
        // The next request may fail for the same reason; the first error is the one to show.
        let Ok(Some(existing)) = self.existing(item, resource).await else {
            return Err(refusal(item, error));
        };
        if is_excluded(&existing) {
            return Ok(skipped(item, Some(&existing)));
        }
        let force = || self.settings.force || FORCE_ENABLED.is_in(&item.object) || FORCE_ENABLED.is_in(&existing);
        if is_immutable(error) && force() {
            Ok(Verdict::Replace(refusal(item, error)))
        } else {
            Err(refusal(item, error))
        }
    }

    /// Whether field managers may be written before the dry run.
    fn patches_managers(&self) -> bool {
        self.settings.migrate_api_version || !self.settings.override_before_dry_run.is_empty()
    }

    /// Takes over the fields of managers that are overridden before the dry run, and migrates the version of all;
    /// returns whether that was needed.
    async fn patch_managers(
        &self,
        item: &Item,
        resource: &Resource,
        existing: Option<&Value>,
    ) -> Result<bool, Refusal> {
        let Some(existing) = existing else { return Ok(false) };
        let merges = SSA_MERGE.is_in(&item.object) || SSA_MERGE.is_in(existing);
        let taken = if merges {
            None
        } else {
            managers::take_over(existing, &self.settings.manager, &self.settings.override_before_dry_run)
        };
        let taken = match taken {
            Some(patch) => Some(self.patch_fields(item, resource, &patch, TAKE_OVER).await?),
            None => None,
        };
        let api_version = item.gvk.api_version();
        let migrated = if self.settings.migrate_api_version {
            managers::migrate(taken.as_deref().unwrap_or(existing), &api_version)
        } else {
            None
        };
        if let Some(patch) = &migrated {
            let failed =
                format!("failed to migrate API version: failed to migrate managed fields API version to {api_version}");
            self.patch_fields(item, resource, patch, &failed).await?;
        }
        Ok(taken.is_some() || migrated.is_some())
    }

    async fn patch_fields(
        &self,
        item: &Item,
        resource: &Resource,
        patch: &Value,
        failed: &str,
    ) -> Result<Answered<Value>, Refusal> {
        let (name, manager) = (&item.id.name, &self.settings.manager);
        let patched = self.cluster.json_patch(resource, name, manager, patch).await;
        patched.map_err(|error| Refusal {
            cause: Cause::of(&error),
            id: item.id.clone(),
            origin: item.origin.clone(),
            message: format!("{} {failed}: {error}", item.id),
        })
    }
}

pub(crate) fn refusal(item: &Item, error: &ClusterError) -> Refusal {
    Refusal::of(&item.id, item.origin.clone(), error)
}

/// The object's name in messages: the server's, as it knows which kinds are namespaced. Other parts of its
/// answer are not trusted.
pub(crate) fn change(item: &Item, object: &Value, action: Action) -> Change {
    let (own, there) = (&item.id, ObjectId::of(object));
    let is_it = there.name.name == own.name.name && there.kind == own.kind && there.group == own.group;
    let namespaces = ["", &own.name.namespace];
    let is_there = is_it && namespaces.contains(&there.name.namespace.as_str());
    Change {
        id: if is_there { there } else { own.clone() },
        version: item.gvk.version.clone(),
        action,
    }
}

/// The server's version of an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
}

impl Version {
    /// Longer versions, in bytes, are not remembered: no well-behaved server has them.
    const LONGEST: usize = 256;

    /// None for one that is not worth remembering.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        let text = |pointer: &str| {
            let text = object.text_at(pointer);
            (text.len() <= Self::LONGEST).then(|| text.to_owned())
        };
        Some(Self {
            uid: text("/metadata/uid")?,
            resource_version: text("/metadata/resourceVersion")?,
        })
    }
}

pub(crate) fn write(item: &Item, dry_run: &Value, action: Action) -> Verdict {
    Verdict::Write(Box::new(Plan {
        change: change(item, dry_run, action),
        cleanup: Vec::new(),
        existing: None,
        yields: None,
    }))
}

/// Named by the server's object, as the server knows which kinds are namespaced.
fn skipped(item: &Item, existing: Option<&Value>) -> Verdict {
    let change = change(item, existing.unwrap_or(&item.object), Action::Skipped);
    Verdict::Keep(change, existing.and_then(Version::of))
}

pub(crate) fn resource_version(object: &Value) -> &str {
    object.text_at("/metadata/resourceVersion")
}

/// Returns whether immutable fields change (fluxcd/pkg `ssa/errors`, *immutable*).
fn is_immutable(error: &ClusterError) -> bool {
    static WORDS: LazyLock<Option<Regexp>> = LazyLock::new(|| Regexp::new(r"is\simmutable|immutable\sfield").ok());
    let says = |words: &Regexp| {
        words
            .is_match(error.to_string().as_bytes(), &mut Budget::default())
            .unwrap_or(false)
    };
    matches!(error.reason(), "Conflict" | "Invalid") || WORDS.as_ref().is_some_and(says)
}
