//! What the charts of HelmReleases make of the values that are marked.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use super::args::Add;
use super::paths;
use crate::cli::error::CliError;
use crate::cli::files::{FoundFiles, in_repositories};
use crate::cli::fleet::values::{ChartPlaces, image_values};
use crate::cli::init::charts;
use bumpwright_adopt::Files;
use bumpwright_edit::{FileKind, LeftField, Marking, Part, Setter, field_in, mark_at_in};
use bumpwright_policy::PolicyName;
use bumpwright_propose::{ImageFields, image_fields};

/// The fields of an image among the values of releases, by file.
#[derive(Default)]
pub(super) struct Charts {
    files: BTreeMap<String, ImageFields>,
    /// Whose values are guessed where one of them is marked, and why.
    guesses: RefCell<BTreeMap<String, String>>,
}

impl Charts {
    pub(super) fn of(args: &Add, found: &FoundFiles<'_>, image: &str) -> Self {
        if !args.helm {
            return Self::default();
        }
        let paths = paths(&args.place);
        let sources = in_repositories(&paths, found.files.clone(), Path::new(""));
        let files = Files::read(&sources);
        let places = ChartPlaces {
            folder: paths.first().map_or(Path::new("."), |path| path),
            charts: args.charts.clone(),
        };
        let rendered = image_values(&files, &places);
        let fields = files.parsed.iter().map(|file| {
            let fields = image_fields(file, &rendered, image);
            (file.source.name.clone(), fields)
        });
        Self {
            files: fields.collect(),
            guesses: RefCell::default(),
        }
    }

    /// The markers of a file: in the values of releases those that the charts ask for, elsewhere as they are.
    ///
    /// # Errors
    /// The file does not parse.
    pub(super) fn corrected(
        &self,
        path: &Path,
        marking: Marking,
        (kind, text, policy): (FileKind, &str, &PolicyName),
    ) -> Result<Marking, CliError> {
        let Some(known) = self.files.get(&*path.to_string_lossy()) else {
            return Ok(marking);
        };
        if !marking.changed.is_empty() {
            self.guesses.borrow_mut().extend(known.guesses.clone());
        }
        let (mut wanted, mut left) = (BTreeMap::new(), marking.left.clone());
        for field in &marking.changed {
            let start = field_in(kind, text, field.line, Some(field.column))?;
            match known.left.get(&start) {
                None => drop(wanted.insert(start, field.setter.clone())),
                Some(why) => left.push(LeftField {
                    line: field.line,
                    column: field.column,
                    why,
                }),
            }
        }
        let count = wanted.len();
        // A name alone is not a version.
        let has_version = known.fields.values().any(|part| *part != Part::Name);
        for (start, part) in known.fields.iter().filter(|_| has_version) {
            wanted.entry(*start).or_insert_with(|| Setter {
                policy: policy.clone(),
                part: *part,
            });
        }
        if (count, wanted.len()) == (marking.changed.len(), count) {
            return Ok(marking);
        }
        let mut marking = if wanted.is_empty() {
            Marking::default()
        } else {
            mark_at_in(kind, text, &wanted)?
        };
        marking.left.extend(left);
        marking.left.sort_by_key(|field| (field.line, field.column));
        marking.left.dedup();
        Ok(marking)
    }

    /// What is not known but guessed.
    pub(super) fn guesses(&self) -> Option<String> {
        charts::guesses(&self.guesses.borrow())
    }
}
