//! From what a person sees to the page that is asked for.

use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_overview::{Change, Entry, Id, Image, World, release_entry};
use bumpwright_pages::{Inventory, Listing, ObjectPage, Page, Route, TagRow, search};

use crate::page::history::History;
use crate::page::object::Seen;
use crate::page::requests;
use crate::view::View;

/// What a page needs that the model does not have.
#[derive(Debug, Default)]
pub(crate) struct Extra {
    /// The tags of a policy's repository.
    pub(crate) tags: Vec<TagRow>,
    /// The objects of the page of a Kustomization or HelmRelease.
    pub(crate) inventory: Arc<Inventory>,
    /// The runs of an automation.
    pub(crate) history: History,
    /// The object of an object's page.
    pub(crate) object: Option<(Entry, Seen)>,
}

/// Calls `show` with the page of a route; none where nothing is, or nothing that this person may see.
pub(crate) fn page<T>(
    route: &Route,
    view: &View,
    extra: &Extra,
    listing: &Listing,
    show: impl FnOnce(&Page<'_>) -> T,
) -> Option<T> {
    let (all, world) = (&view.overview, &view.world);
    Some(match route {
        Route::Overview => show(&Page::Overview(all)),
        Route::Attention => show(&Page::Attention(&all.attention, listing)),
        Route::Images => show(&Page::Images(&all.images, listing)),
        Route::Policy(name) => {
            let image = all.images.iter().find(|image| image.policy.name == *name)?;
            show(&Page::Policy {
                image,
                rule: &rule(world, name),
                tags: &extra.tags,
                listing,
            })
        }
        Route::Automations => show(&Page::Automations(&all.automations, listing)),
        Route::Automation(name) => automation(view, name, &extra.history, show)?,
        Route::Kustomizations => show(&Page::Kustomizations(
            &all.kustomizations,
            &world.graph(listing.boxes()),
            listing,
        )),
        Route::Kustomization(name) => {
            let kustomization = all.kustomizations.iter().find(|one| one.id.name == *name)?;
            show(&Page::Kustomization {
                kustomization,
                tree: &world.tree(&kustomization.id)?,
                inventory: &extra.inventory,
                differences: &world.differences(name),
                listing,
            })
        }
        Route::Releases => show(&Page::Releases(&all.releases, listing)),
        Route::Release(name) => {
            let release = all.releases.iter().find(|one| one.id.name == *name)?;
            let changes: Vec<&Change> = of(&all.changes, &release.id).collect();
            show(&Page::Release {
                release,
                tree: &world.tree(&release.id)?,
                inventory: &extra.inventory,
                changes: &changes,
                listing,
            })
        }
        Route::Sources => show(&Page::Sources(&all.sources, listing)),
        Route::Source(id) => source(view, id, show)?,
        Route::Reviews if view.has_requests => requests::list(view, listing, show),
        Route::Review(name, subject) => requests::one(view, (name, subject), listing, show)?,
        Route::Timeline => show(&Page::Timeline(&all.changes, listing)),
        Route::Object(_) => object(view, extra, show)?,
        Route::Search => show(&Page::Search(&search(world, &listing.words), listing)),
        Route::Reviews | Route::SignIn | Route::SignOut | Route::Act | Route::Events | Route::Style | Route::Script => {
            return None;
        }
    })
}

fn automation<T>(view: &View, name: &ObjectName, history: &History, show: impl FnOnce(&Page<'_>) -> T) -> Option<T> {
    let overview = &view.overview;
    let automation = overview.automations.iter().find(|one| one.id.name == *name)?;
    let images: Vec<&Image> = overview
        .images
        .iter()
        .filter(|image| image.automations.contains(&automation.id))
        .collect();
    Some(show(&Page::Automation {
        automation,
        runs: &history.runs,
        note: &history.note,
        images: &images,
    }))
}

fn source<T>(view: &View, id: &Id, show: impl FnOnce(&Page<'_>) -> T) -> Option<T> {
    let overview = &view.overview;
    let source = overview.sources.iter().find(|one| one.id == *id)?;
    let automations: Vec<_> = overview.automations.iter().filter(|one| one.source == *id).collect();
    let changes: Vec<&Change> = of(&overview.changes, id).collect();
    Some(show(&Page::Source {
        source,
        automations: &automations,
        changes: &changes,
    }))
}

fn object<T>(view: &View, extra: &Extra, show: impl FnOnce(&Page<'_>) -> T) -> Option<T> {
    let (object, seen) = extra.object.as_ref()?;
    let id = Id::new(&object.kind, ObjectName::new(&object.namespace, &object.name));
    let is_ours = object.group.ends_with(".toolkit.fluxcd.io") && !seen.elsewhere;
    let readiness = view.world.readiness(&id).filter(|_| is_ours);
    let events: Vec<Change> = if is_ours {
        of(&view.overview.changes, &id).cloned().collect()
    } else {
        Vec::new()
    };
    let releases = view.world.releases_above(object, seen.metadata.as_ref());
    let applied = releases.last().map(release_entry);
    Some(show(&Page::Object(&ObjectPage {
        object,
        readiness: readiness.as_ref(),
        // The conditions say more.
        health: seen.health.as_ref().filter(|_| readiness.is_none()),
        elsewhere: seen.elsewhere,
        conditions: &seen.conditions,
        events: &events,
        releases: &releases,
        trace: &view.world.trace(applied.as_ref().unwrap_or(object), None),
        yaml: seen.yaml.as_deref(),
    })))
}

fn of<'a>(changes: &'a [Change], id: &'a Id) -> impl Iterator<Item = &'a Change> {
    changes.iter().filter(move |change| change.id == *id)
}

/// The rule of a policy in words: `semver range=>=1.0`.
fn rule(world: &World, name: &ObjectName) -> String {
    let rules = world.policies.get(name).map(|policy| &policy.spec.policy);
    let words = rules.into_iter().flatten().map(|(kind, fields)| {
        let fields: Vec<&str> = fields.values().map(String::as_str).collect();
        format!("{kind} {}", fields.join(" ")).trim().to_owned()
    });
    words.collect::<Vec<_>>().join(", ")
}
