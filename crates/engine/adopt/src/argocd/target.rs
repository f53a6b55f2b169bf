//! Where argocd-image-updater writes an image: the fields that get markers.
//!
//! It is the field that Argo CD takes in the end: an entry of `.argocd-source-NAME.yaml`, of the Application itself, of
//! its values, of the kustomization; else the plain fields of its manifests.

use bumpwright_api::tree::{self, Node};
use bumpwright_edit::{FileKind, Part, file_kind, is_same_image};
use bumpwright_policy::{LatestRef, PolicyName};
use bumpwright_text::Cuts;

use super::application::{Application, Kind, Source, is_template};
use super::error::NoTarget;
use super::settings::{Image, WriteBack};
use super::spots::{Spot, of_document};
use crate::draft::Draft;
use crate::fields::{below, dotted, parameter};
use crate::files::join;
use crate::image::{Named, is_short_form};
use crate::remarks::Told;

/// The fields of an image, and what there is to tell of them.
#[derive(Debug, Default)]
pub(super) struct Found<'f> {
    pub(super) spots: Vec<Spot<'f>>,
    pub(super) note: Option<String>,
    /// A field that has to be written first.
    pub(super) lacks: Option<NoTarget>,
}

impl<'f> Found<'f> {
    fn one(spot: Spot<'f>) -> Self {
        Self {
            spots: vec![spot],
            ..Self::default()
        }
    }
}

/// Who is written where.
pub(super) struct Target<'a, 'n> {
    pub(super) application: &'a Application<'n>,
    pub(super) image: &'a Image,
    pub(super) write_back: &'a WriteBack,
    /// As commands name it; what is to be made has none yet.
    pub(super) policy: &'a PolicyName,
    /// Whether the digest is written, too.
    pub(super) digest: bool,
}

/// A value, and the file that has it.
type At<'f> = (usize, &'f Node);

impl<'n> Target<'_, 'n> {
    fn name(&self) -> String {
        Named::split(&self.image.name.value).name
    }

    fn home(&self, draft: &Draft<'_>) -> usize {
        let file = draft.files.get(self.application.file);
        file.map_or(0, |file| file.source.root)
    }

    pub(super) fn find(&self, draft: &Draft<'n>) -> Result<Found<'n>, NoTarget> {
        let kind = self.kind(draft);
        let Some(source) = self.application.source(kind, draft.files) else {
            return Err(NoTarget::NoSource);
        };
        let kind = kind.unwrap_or_else(|| source.kind(draft.files, self.home(draft)));
        match kind {
            Kind::Helm => self.helm(draft, source),
            Kind::Kustomize => self.kustomize(draft, source),
            Kind::Plugin => self.plugin(draft, source),
            Kind::Plain => self.plain(draft, source),
        }
    }

    /// What the write-back or the image says about it.
    fn kind(&self, draft: &Draft<'_>) -> Option<Kind> {
        let target = self.write_back.target.as_ref().map(|told| told.value.as_str());
        let image = self.image;
        match target {
            Some(target) if target.starts_with("kustomization") => Some(Kind::Kustomize),
            Some(target) if target.starts_with("helmvalues") || is_values(target) => Some(Kind::Helm),
            _ if image.kustomize.is_some() => Some(Kind::Kustomize),
            _ if image.helm_name.is_some() || image.helm_tag.is_some() || image.helm_spec.is_some() => Some(Kind::Helm),
            _ if image.plugin_name.is_some() || image.plugin_spec.is_some() => Some(Kind::Plugin),
            _ => {
                let sources = self.application.sources();
                let first = sources.iter().find(|source| !source.has("chart") && !source.has("ref"));
                first.map(|source| source.kind(draft.files, self.home(draft)))
            }
        }
    }

    /// The path that a target such as `helmvalues:PATH` names.
    fn target_path(&self, source: Source<'_>, prefix: &str, default: &str) -> Option<String> {
        let target = self.write_back.target.as_ref()?.value.strip_prefix(prefix)?;
        let path = target
            .strip_prefix(':')
            .filter(|path| !path.is_empty())
            .unwrap_or(default);
        Some(match path.strip_prefix('/') {
            Some(absolute) => join("", absolute),
            None => join(&source.path().unwrap_or_default(), path),
        })
    }

    /// The file of values that is written to. Without a prefix its path begins at the root of the repository.
    fn values_target(&self, source: Source<'_>) -> Option<String> {
        let target = self.write_back.target.as_ref().map(|told| told.value.as_str());
        match target.filter(|target| is_values(target)) {
            Some(path) => Some(join("", path)),
            None => self.target_path(source, "helmvalues", "values.yaml"),
        }
    }

    /// The file with overrides of parameters in the folder of the source.
    fn overrides(&self, draft: &Draft<'_>, source: Source<'_>) -> Option<usize> {
        let folder = source.path()?;
        let home = self.home(draft);
        let name = &self.application.name;
        let own = self
            .write_back
            .target
            .as_ref()
            .map(|told| join("", &told.value))
            .filter(|path| is_overrides(path));
        let names = [
            own,
            Some(join(&folder, &format!(".argocd-source-{name}.yaml"))),
            self.application
                .namespace
                .as_ref()
                .map(|namespace| join(&folder, &format!(".argocd-source-{namespace}_{name}.yaml"))),
        ];
        names.into_iter().flatten().find_map(|path| draft.files.at(home, &path))
    }

    // -- Helm

    /// What argocd-image-updater writes into a parameter for the tag: with the digest strategy both.
    fn part_of_tag(&self) -> Part {
        if self.digest { Part::TagDigest } else { Part::Tag }
    }

    fn helm(&self, draft: &Draft<'n>, source: Source<'n>) -> Result<Found<'n>, NoTarget> {
        let value_of = |told: &Option<Told<String>>| told.as_ref().map(|told| told.value.clone());
        if let Some(spec) = value_of(&self.image.helm_spec) {
            let found = self.value(draft, source, &spec)?;
            let field = found.ok_or_else(|| self.missing(draft, source, &spec))?;
            return Ok(Found::one(Spot::whole(field.0, field.1)));
        }
        let tag = value_of(&self.image.helm_tag).unwrap_or_else(|| "image.tag".to_owned());
        let name = value_of(&self.image.helm_name).unwrap_or_else(|| "image.name".to_owned());
        let found = self.value(draft, source, &tag)?;
        let field = found.ok_or_else(|| self.missing(draft, source, &tag))?;
        let mut parts = vec![(field.1, self.part_of_tag())];
        if let Some(sibling) = tag.rsplit_once('.').map(|(parent, _)| format!("{parent}.digest"))
            && let Some((file, node)) = self.value(draft, source, &sibling)?
            && node.text().is_some_and(|text| !text.is_empty())
        {
            return Err(NoTarget::Digest(draft.place(file, node)));
        }
        let named = self.value(draft, source, &name)?;
        if let Some(other) = named
            && self.takes_name(draft, other, &name)?
        {
            if other.0 == field.0 {
                parts.push((other.1, Part::Name))
            } else {
                // Of two files each has its own fields.

                let apart = Spot::of(other.0, vec![(other.1, Part::Name)]);
                return Ok(Found {
                    spots: vec![Spot::of(field.0, parts), apart],
                    ..Found::default()
                });
            }
        }
        let is_missing = named.is_none() && self.image.helm_name.is_some();
        Ok(Found {
            lacks: is_missing.then(|| self.no_name(draft, source, &name)),
            ..Found::one(Spot::of(field.0, parts))
        })
    }

    /// Whether a field for the name holds the whole name of the image.
    fn takes_name(&self, draft: &Draft<'_>, (file, node): At<'_>, key: &str) -> Result<bool, NoTarget> {
        let (value, image) = (node.scalar_text(), self.name());
        if is_same_image(value, &image) {
            return Ok(true);
        }
        // A chart with a field for the registry, too: only the tag changes.
        if is_short_form(value, &image) {
            return Ok(false);
        }
        Err(NoTarget::OtherName {
            place: draft.place(file, node),
            key: key.to_owned(),
            value: value.to_owned(),
            image,
        })
    }

    /// The value of a parameter, where it counts.
    fn value(&self, draft: &Draft<'n>, source: Source<'n>, key: &str) -> Result<Option<At<'n>>, NoTarget> {
        let files = draft.files;
        if let Some(path) = self.values_target(source) {
            let file = files
                .at(self.home(draft), &path)
                .ok_or_else(|| self.unknown_file(&path))?;
            self.readable(draft, file)?;
            return Ok(files
                .root(file)
                .and_then(|root| dotted(root, key))
                .map(|node| (file, node)));
        }
        let of_parameters = |file: usize, node: &'n Node, path: &[&str]| {
            let field = below(node, path).and_then(|list| parameter(list, key));
            field.map(|node| (file, node))
        };
        let overrides = self.overrides(draft, source).and_then(|file| {
            let root = files.root(file)?;
            of_parameters(file, root, &["helm", "parameters"])
        });
        let own = self.application.file;
        let values = || {
            let node = below(source.node, &["helm", "valuesObject"])?;
            dotted(node, key).map(|node| (own, node))
        };
        let value = overrides
            .or_else(|| of_parameters(own, source.node, &["helm", "parameters"]))
            .or_else(values);
        if value.is_none() {
            self.no_text_values(draft, source, key)?;
        }
        Ok(value.or_else(|| self.in_values_files(draft, source, key)))
    }

    /// Values as a text inside of the Application cannot have markers.
    fn no_text_values(&self, draft: &Draft<'_>, source: Source<'_>, key: &str) -> Result<(), NoTarget> {
        let Some(values) = below(source.node, &["helm", "values"]) else {
            return Ok(());
        };
        let (documents, _) = tree::parse(values.scalar_text());
        match documents.first().and_then(|root| dotted(root, key)) {
            Some(_) => Err(NoTarget::TextValues {
                place: draft.place(self.application.file, values),
                key: key.to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// The last file of values that has the key: it takes precedence.
    fn in_values_files(&self, draft: &Draft<'n>, source: Source<'n>, key: &str) -> Option<At<'n>> {
        let files = draft.files;
        let home = self.home(draft);
        self.values_paths(source).into_iter().rev().find_map(|path| {
            let file = files.at(home, &path)?;
            let node = dotted(files.root(file)?, key)?;
            Some((file, node))
        })
    }

    /// The files of values, from the first to the last.
    fn values_paths(&self, source: Source<'_>) -> Vec<String> {
        let folder = source.path();
        let folder = folder.as_deref();
        let mut paths: Vec<String> = folder.map(|folder| join(folder, "values.yaml")).into_iter().collect();
        let named = below(source.node, &["helm", "valueFiles"])
            .into_iter()
            .flat_map(Node::items);
        for name in named.filter_map(|item| item.text()) {
            let referred = name.strip_prefix('$').and_then(|name| name.split_once('/'));
            match (referred, name.strip_prefix('/')) {
                // From the root of the repository that another source refers to, whatever its path is.
                (Some((_, path)), _) | (None, Some(path)) => paths.push(join("", path)),
                (None, None) => paths.extend(folder.map(|folder| join(folder, name))),
            }
        }
        paths
    }

    fn readable(&self, draft: &Draft<'_>, file: usize) -> Result<(), NoTarget> {
        let Some(parsed) = draft.files.get(file) else {
            return Ok(());
        };
        match &parsed.error {
            None => Ok(()),
            Some((place, why)) => Err(NoTarget::Unparsable {
                name: parsed.source.name.clone(),
                line: place.line,
                column: place.column,
                why: why.clone(),
            }),
        }
    }

    fn missing(&self, draft: &Draft<'_>, source: Source<'_>, key: &str) -> NoTarget {
        let home = self.home(draft);
        let paths = match self.values_target(source) {
            Some(path) => vec![path],
            None => self.values_paths(source),
        };
        let (known, unknown): (Vec<String>, Vec<String>) =
            paths.into_iter().partition(|path| draft.files.at(home, path).is_some());
        match (known.last(), unknown.last()) {
            (Some(path), None) => NoTarget::NoField {
                path: path.clone(),
                key: key.to_owned(),
            },
            (_, Some(path)) => self.unknown_file(path),
            (None, None) => NoTarget::NoValues {
                key: key.to_owned(),
                marker: self.policy.marker(),
            },
        }
    }

    /// There is no field for the name of the image.
    fn no_name(&self, draft: &Draft<'_>, source: Source<'_>, key: &str) -> NoTarget {
        match self.missing(draft, source, key) {
            NoTarget::NoField { path, key } => NoTarget::NoName {
                path,
                key,
                image: self.name(),
            },
            other => other,
        }
    }

    fn unknown_file(&self, path: &str) -> NoTarget {
        let (image, marker) = (self.name(), self.policy.marker());
        let path = path.to_owned();
        if is_template(&path) {
            NoTarget::Generated { path, image, marker }
        } else {
            NoTarget::Elsewhere { path, image, marker }
        }
    }

    // -- Kustomize

    fn kustomize(&self, draft: &Draft<'n>, source: Source<'n>) -> Result<Found<'n>, NoTarget> {
        let target = self.target_path(source, "kustomization", ".");
        if target.is_none() {
            let overrides = self.overrides(draft, source);
            let files = draft.files;
            let in_overrides =
                overrides.and_then(|file| Some((file, below(files.root(file)?, &["kustomize", "images"])?)));
            let own = below(source.node, &["kustomize", "images"]).map(|list| (self.application.file, list));
            for (file, list) in in_overrides.into_iter().chain(own) {
                if let Some((file, node)) = self.entry(draft, file, list)? {
                    return Ok(Found::one(Spot::whole(file, node)));
                }
            }
        }
        let folder = match target.or_else(|| source.path()) {
            Some(folder) => folder,
            None => return Err(NoTarget::NoFolder),
        };
        let home = self.home(draft);
        let Some(root) = draft.files.folder(home, &folder) else {
            return Err(self.unknown_file(&folder));
        };
        if let Some(file) = draft.files.kustomization(root, &folder) {
            self.readable(draft, file)?;
            let items = self.items(draft, file);
            if !items.is_empty() {
                let spots = items.into_iter().map(|item| self.item(draft, file, item));
                return Ok(Found {
                    spots: spots.collect::<Result<_, _>>()?,
                    ..Found::default()
                });
            }
        }
        self.fields_below(draft, root, &folder, true)
    }

    /// The entries of `images` that are about the image: by the name that they replace, else by the one
    /// that they result in.
    fn items(&self, draft: &Draft<'n>, file: usize) -> Vec<&'n Node> {
        let images = draft.files.root(file).and_then(|node| node.field("images"));
        let items = images.map_or(&[][..], Node::items);
        let with = |key: &str, wanted: &str| -> Vec<&'n Node> {
            let is_it = |item: &&Node| item.field_text(key).is_some_and(|name| is_same_image(name, wanted));
            items.iter().map(|item| &**item).filter(is_it).collect()
        };
        let named = with("name", &self.kustomize_name());
        if named.is_empty() && self.image.kustomize.is_none() {
            with("newName", &self.name())
        } else {
            named
        }
    }

    /// The name by which the kustomization knows the image.
    fn kustomize_name(&self) -> String {
        let given = self.image.kustomize.as_ref().map(|told| Named::split(&told.value).name);
        given.unwrap_or_else(|| self.name())
    }

    /// The entry of a list `NAME:TAG` or `OLD=NAME:TAG` of Argo CD.
    fn entry<'f>(&self, draft: &Draft<'f>, file: usize, list: &'f Node) -> Result<Option<At<'f>>, NoTarget> {
        for item in list.items() {
            let text = item.scalar_text();
            let (old, image) = text
                .split_once('=')
                .map_or((None, text), |(old, image)| (Some(old), image));
            let (name, ..) = LatestRef::split(image);
            if !is_same_image(name, &self.name()) {
                continue;
            }
            if old.is_some() {
                return Err(NoTarget::Renamed {
                    place: draft.place(file, item),
                    text: text.to_owned(),
                });
            }
            return Ok(Some((file, item)));
        }
        Ok(None)
    }

    /// An entry of `images` of a kustomization.
    fn item(&self, draft: &Draft<'n>, file: usize, item: &'n Node) -> Result<Spot<'n>, NoTarget> {
        let place = draft.place(file, item);
        let image = self.name();
        let mut parts = Vec::new();
        match item.field("newName") {
            Some(name) if is_same_image(name.scalar_text(), &image) => parts.push((name, Part::Name)),
            Some(name) => {
                let place = draft.place(file, name);
                return Err(NoTarget::NewName { place, image });
            }
            None if !is_same_image(&self.kustomize_name(), &image) => {
                return Err(NoTarget::NoNewName { place, image });
            }
            None => {}
        }
        parts.extend(
            item.field("newTag")
                .map(|node| (node, Part::of_tag(node.scalar_text()))),
        );
        parts.extend(item.field("digest").map(|node| (node, Part::Digest)));
        if parts.iter().any(|(_, part)| *part != Part::Name) {
            Ok(Spot::of(file, parts))
        } else if self.digest {
            Err(NoTarget::NoDigest(place))
        } else {
            Err(NoTarget::NoTag(place))
        }
    }

    // -- plugins, plain manifests

    fn plugin(&self, draft: &Draft<'n>, source: Source<'n>) -> Result<Found<'n>, NoTarget> {
        let files = draft.files;
        let overrides = self.overrides(draft, source);
        let first = overrides.and_then(|file| Some((file, below(files.root(file)?, &["plugin", "env"])?)));
        let own = below(source.node, &["plugin", "env"]).map(|list| (self.application.file, list));
        let lists: Vec<(usize, &'n Node)> = first.into_iter().chain(own).collect();
        let find = |name: &Told<String>| {
            let variable = lists
                .iter()
                .find_map(|(file, list)| Some((*file, parameter(list, &name.value)?)));
            variable.ok_or_else(|| NoTarget::NoVariable(name.value.clone()))
        };
        let image = self.image;
        if let Some(spec) = &image.plugin_spec {
            let (file, node) = find(spec)?;
            return Ok(Found::one(Spot::whole(file, node)));
        }
        let mut target = Found::default();
        if let Some(name) = &image.plugin_name {
            let field = find(name)?;
            if self.takes_name(draft, field, &name.value)? {
                target.spots.push(Spot::of(field.0, vec![(field.1, Part::Name)]));
            }
        }
        if let Some(tag) = &image.plugin_tag {
            let (file, node) = find(tag)?;
            target.spots.push(Spot::of(file, vec![(node, self.part_of_tag())]));
        }
        let has_tag = target.spots.iter().any(|spot| spot.tag.is_some());
        if target.spots.is_empty() || (self.digest && !has_tag) {
            Err(NoTarget::NoPluginField)
        } else {
            Ok(target)
        }
    }

    fn plain(&self, draft: &Draft<'n>, source: Source<'n>) -> Result<Found<'n>, NoTarget> {
        let folder = source.path().ok_or(NoTarget::NoFolder)?;
        match draft.files.folder(self.home(draft), &folder) {
            Some(root) => self.fields_below(draft, root, &folder, false),
            None => Err(self.unknown_file(&folder)),
        }
    }

    /// All fields of the image below a folder.
    fn fields_below(
        &self,
        draft: &Draft<'n>,
        root: usize,
        folder: &str,
        kustomized: bool,
    ) -> Result<Found<'n>, NoTarget> {
        let image = self.name();
        let short = image.behind_last('/');
        let mut found = Found::default();
        for file in draft.files.below(root, folder) {
            // Templates do not parse, and are not manifests.
            let parsed = draft.files.get(file).filter(|parsed| {
                file_kind(&parsed.source.path) == FileKind::Yaml
                    && parsed.text.contains(short)
                    && parsed.error.is_none()
            });
            let documents = parsed.into_iter().flat_map(|parsed| &parsed.documents);
            let of_documents = documents.flat_map(|document| of_document(file, document, &image));
            found.spots.extend(of_documents);
        }
        if found.spots.is_empty() {
            return Err(NoTarget::NoManifest {
                folder: folder.to_owned(),
                image,
                entry: kustomized.then(|| self.kustomize_name()),
            });
        }
        if kustomized {
            found.note = Some(format!(
                "the kustomization in {folder} has no entry for the image, so its fields below that folder are marked"
            ));
        }
        Ok(found)
    }

    /// What to tell about a file with marked fields: who else is concerned.
    pub(super) fn concerned(&self, draft: &Draft<'_>, file: usize) -> Option<String> {
        let source = draft.files.get(file).map(|file| file.source)?;
        if file == self.application.file {
            let text =
                "it is written into the Application itself: the automation has to read the repository of that manifest";
            return Some(text.to_owned());
        }
        (self.write_back.target.is_none() && !is_overrides(&source.path)).then(|| {
            format!(
                "it is written into {} now, for all that use that file; argocd-image-updater wrote it for this Application alone",
                source.name
            )
        })
    }
}

/// Whether a target without a prefix is a file of values.
fn is_values(target: &str) -> bool {
    let is_yaml = target.ends_with(".yaml") || target.ends_with(".yml");
    let has_prefix = ["helmvalues", "kustomization"]
        .iter()
        .any(|prefix| target.starts_with(prefix));
    is_yaml && !has_prefix && !is_overrides(target)
}

/// Whether a file has overrides of the parameters of an Application.
fn is_overrides(path: &str) -> bool {
    path.rsplit('/')
        .next()
        .is_some_and(|name| name.starts_with(".argocd-source-"))
}
