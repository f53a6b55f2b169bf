//! `get imagerepositories -f`: the image repositories of manifests. No cluster and no registry is asked.

use serde_json::json;

use super::args::{Get, Output, What};
use super::listing::Listing;
use crate::cli::error::CliError;
use crate::cli::load;
use crate::cli::view::table::{Cell, Table};
use bumpwright_api::{Document, ImageRepository, Object, ObjectName, Objects, UnknownFields};
use bumpwright_nearest::nearest;
use bumpwright_overview::Id;

const KIND: &str = "ImageRepository";

/// The image repositories of the manifests of `-f`, by namespace and name.
///
/// # Errors
/// Something else is asked for, a manifest is not valid, or a name is not there.
pub(super) fn listing(args: &Get) -> Result<Listing, CliError> {
    let wanted = args.asked();
    let is_known = wanted.what == What::Repositories || wanted.kind == Some(KIND);
    if !is_known {
        return Err(CliError::new("-f shows imagerepositories alone").hint(
            "`bumpwright policy -f FILE|DIR` shows policies with their choice; leave -f out to look at the cluster",
        ));
    }
    let objects = load::load(&args.filenames, UnknownFields::Refuse)?;
    let mut listing = Listing {
        name: "imageRepositories",
        ids: Vec::new(),
        facts: Vec::new(),
        table: Table {
            headings: headings(args),
            rows: Vec::new(),
        },
    };
    for (document, repository) in repositories(&objects) {
        if wanted.names.is_empty() || wanted.names.contains(&repository.metadata.name) {
            add(
                &mut listing,
                args,
                document,
                repository,
                &policies(&objects, repository),
            );
        }
    }
    let has = |name: &&String| listing.ids.iter().any(|id| id.name.name == **name);
    match wanted.names.iter().find(|name| !has(name)) {
        Some(name) => {
            let names: Vec<&str> = repositories(&objects)
                .map(|(_, one)| one.metadata.name.as_str())
                .collect();
            let error = CliError::new(format!("there is no {KIND} {name} in the manifests of -f"));
            Err(error.meant(nearest(name, names)))
        }
        None => Ok(listing),
    }
}

fn headings(args: &Get) -> Vec<&'static str> {
    let more = ["INTERVAL", "SECRET", "SUSPENDED"]
        .into_iter()
        .filter(|_| is_wide(args));
    let always = ["NAMESPACE", "NAME", "IMAGE", "POLICIES"];
    always.into_iter().chain(more).chain(["PLACE"]).collect()
}

fn is_wide(args: &Get) -> bool {
    args.output == Some(Output::Wide)
}

fn repositories(objects: &Objects) -> impl Iterator<Item = (&Document, &ImageRepository)> {
    objects.documents().filter_map(|document| match &document.object {
        Object::ImageRepository(repository) => Some((document, repository)),
        _ => None,
    })
}

/// The policies that choose among its tags.
fn policies(objects: &Objects, repository: &ImageRepository) -> Vec<Id> {
    let name = repository.name();
    let own = objects
        .image_policies()
        .filter(|policy| policy.repository().as_ref() == Some(&name));
    own.map(|policy| Id::new("ImagePolicy", policy.metadata.object_name()))
        .collect()
}

fn add(listing: &mut Listing, args: &Get, document: &Document, repository: &ImageRepository, policies: &[Id]) {
    let name: ObjectName = repository.name();
    let spec = &repository.spec;
    let place = format!("{}:{}:{}", document.path, document.place.line, document.place.column);
    let interval = spec.interval.map(|interval| interval.to_string());
    let secret = spec.secret_ref.as_ref().map(|secret| secret.name.as_str());
    let mut row = vec![
        Cell::new(&name.namespace),
        Cell::new(&name.name),
        Cell::new(&spec.image),
        Cell::new(policies.len().to_string()),
    ];
    if is_wide(args) {
        row.push(Cell::maybe(interval.as_ref()));
        row.push(Cell::maybe(secret));
        row.push(Cell::new(if spec.suspend { "True" } else { "False" }));
    }
    row.push(Cell::new(&place));
    let id = Id::new(KIND, name);
    listing.facts.push(json!({
        "id": id,
        "image": spec.image,
        "interval": interval,
        "secret": secret,
        "suspended": spec.suspend,
        "policies": policies,
        "place": place,
    }));
    listing.ids.push(id);
    listing.table.rows.push(row);
}
