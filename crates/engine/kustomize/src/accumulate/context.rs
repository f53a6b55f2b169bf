//! The state that all kustomizations of a build share.

use super::Options;
use super::error::BuildError;
use super::told::{LostItems, Told};
use crate::fields::FieldConfig;
use crate::growth::{self, Growth};
use crate::kustomization::{Kustomization, Text};
use crate::resource::{ResMap, Resource, read_resources};
use crate::schema::SchemaChoice;
use crate::tree::{Loader, World};
use bumpwright_text::between;
use bumpwright_yaml::{FileId, Files, Node, Place, ReadOptions, read_first, weight};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;

/// The state that all kustomizations of a build share.
pub(super) struct Context<'a> {
    pub world: &'a dyn World,
    pub options: &'a Options,
    schema: RefCell<SchemaChoice>,
    files: RefCell<Files>,
    pub warnings: RefCell<Vec<String>>,
    pub lost: RefCell<Vec<LostItems>>,
    /// The remaining allowance for copies.
    pub growth: Growth,
    /// The number of kustomizations read.
    pub loads: Cell<usize>,
    /// The number of cycles found.
    pub cycles: Cell<usize>,
    /// The field specs of a kustomization without additions.
    pub fields: Rc<FieldConfig>,
}

impl<'a> Context<'a> {
    pub(super) fn new(world: &'a dyn World, options: &'a Options) -> Self {
        Self {
            world,
            options,
            schema: RefCell::default(),
            files: RefCell::default(),
            warnings: RefCell::default(),
            lost: RefCell::default(),
            growth: Growth::default(),
            loads: Cell::default(),
            cycles: Cell::default(),
            fields: Rc::new(FieldConfig::builtin()),
        }
    }

    pub(super) fn schema(&self) -> Ref<'_, SchemaChoice> {
        self.schema.borrow()
    }

    pub(super) fn files(&self) -> Ref<'_, Files> {
        self.files.borrow()
    }

    /// The names of files, at the end of the build.
    pub(super) fn into_files(self) -> Files {
        self.files.into_inner()
    }

    pub(super) fn warn(&self, place: Place, text: &str) {
        let place = between("", self.files().show(place), ": ");
        self.warnings.borrow_mut().push(format!("{place}{text}"));
    }

    /// Tells what a step at `place` has to tell.
    pub(super) fn tell(&self, place: Place, told: Told) {
        match told {
            Told::Unmatched(text) => self.warn(place, &text),
            Told::Lost(own, lost) => {
                let lost = lost.at([own, place], &self.files());
                let at = lost.place.as_ref();
                let warning = format!("{}{lost}; {}", between("", at, ": "), lost.way_out());
                self.warnings.borrow_mut().push(warning);
                self.lost.borrow_mut().push(lost);
            }
        }
    }

    /// Registers a file for places.
    pub(super) fn file(&self, name: &str) -> FileId {
        self.files.borrow_mut().add(name)
    }

    /// Takes the `openapi` field of a kustomization; the first one counts.
    pub(super) fn choose_schema(&self, loader: &Loader<'_>, kustomization: &Kustomization) -> Result<(), BuildError> {
        let path = kustomization.openapi_path.as_ref();
        let version = kustomization.openapi_version.as_ref();
        let document = match path {
            Some(path) => self.document(loader, path)?,
            None => None,
        };
        let version = version.map(|version| version.text.as_str());
        let place = path.map_or(Place::NONE, |path| path.place);
        let chosen = self.schema.borrow_mut().choose(version, document.as_ref());
        chosen.map_err(|error| BuildError::from(error).at(place))
    }

    /// The first document of a file, as configurations are read.
    pub(super) fn document(&self, loader: &Loader<'_>, path: &Text) -> Result<Option<Node>, BuildError> {
        self.document_as(loader, path, ReadOptions::sigs)
    }

    /// The same, without duplicate keys.
    pub(super) fn strict_document(&self, loader: &Loader<'_>, path: &Text) -> Result<Option<Node>, BuildError> {
        self.document_as(loader, path, ReadOptions::sigs_strict)
    }

    fn document_as(
        &self,
        loader: &Loader<'_>,
        path: &Text,
        options: fn(FileId) -> ReadOptions,
    ) -> Result<Option<Node>, BuildError> {
        let bytes = loader
            .load(&path.text)
            .map_err(|error| BuildError::from(error).at(path.place))?;
        let file = self.file(&loader.shown(&path.text));
        growth::take(weight::of_text(&bytes)).map_err(|error| BuildError::from(error).at(path.place))?;
        let document = read_first(&bytes, &options(file));
        document.map_err(|error| BuildError::from(error).through(path.place))
    }

    /// The file for places in a text within a file: lines of that file, if the text is a literal block, after
    /// `skipped` lines of it.
    pub(super) fn inline(&self, text: &Text, skipped: usize) -> FileId {
        if !text.is_literal || text.place.file == FileId::NONE {
            return FileId::NONE;
        }
        let skipped = u32::try_from(skipped).unwrap_or(u32::MAX);
        self.files.borrow_mut().add_literal(Place {
            line: text.place.line.saturating_add(skipped),
            ..text.place
        })
    }

    /// The resources of a text in a file.
    pub(super) fn inline_resources(&self, text: &Text) -> Result<Vec<Resource>, BuildError> {
        self.resources(text.text.as_bytes(), self.inline(text, 0))
    }

    /// The resources of a text.
    pub(super) fn resources(&self, bytes: &[u8], file: FileId) -> Result<Vec<Resource>, BuildError> {
        growth::take(weight::of_text(bytes))?;
        let resources = read_resources(bytes, file, &self.schema())?;
        growth::take(growth::RESOURCE * resources.len() as u64)?;
        Ok(resources)
    }
}

/// A list of resources as a map.
pub(super) fn map_of(resources: Vec<Resource>) -> Result<ResMap, BuildError> {
    let mut map = ResMap::default();
    for resource in resources {
        let place = resource.node.place;
        map.append(resource)
            .map_err(|error| BuildError::from(error).at(place))?;
    }
    Ok(map)
}
