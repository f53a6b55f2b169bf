//! `Chart.lock`: the versions that dependencies were resolved to.

use super::decode::{Fields, Mismatch};
use super::folder::Folder;
use super::metadata::{Dependency, dependency};
use crate::yaml;
use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_yaml::Node;

/// Go's zero time.
const NEVER: &str = "0001-01-01T00:00:00Z";

/// The fields of `Chart.lock`, and of `requirements.lock` of older charts.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The names are Helm's.
pub struct Lock {
    /// As Go writes it.
    pub generated: String,
    pub digest: String,
    /// None when the file has no such field.
    pub dependencies: Option<Vec<Option<Dependency>>>,
}

impl Lock {
    /// That of a chart in a folder; none without one that can be read.
    #[must_use]
    pub fn of_folder(folder: &dyn Folder) -> Option<Self> {
        let names = ["Chart.lock", "requirements.lock"].into_iter();
        let mut found = names.filter_map(|name| folder.read(name, folder.most()).ok());
        let node = yaml::read(&found.next()?).ok()?;
        Self::read(&node).ok()?
    }

    /// Reads a document; none of an empty one.
    pub(super) fn read(node: &Node) -> Result<Option<Self>, Mismatch> {
        let Some(fields) = Fields::of(node, "v2.Lock")? else {
            return Ok(None);
        };
        let mut lock = Self {
            generated: time(&fields, "generated")?,
            digest: String::new(),
            dependencies: None,
        };
        fields.text("digest", &mut lock.digest)?;
        if let Some(items) = fields.list("dependencies", "[]*v2.Dependency")? {
            lock.dependencies = Some(items.iter().map(dependency).collect::<Result<_, _>>()?);
        }
        Ok(Some(lock))
    }
}

/// The time of a field as Go writes it.
pub(crate) fn time(fields: &Fields<'_>, name: &str) -> Result<String, Mismatch> {
    let mut text = String::new();
    fields.text(name, &mut text)?;
    if text.is_empty() {
        return Ok(NEVER.to_owned());
    }
    let failed = |error: String| format!("error unmarshaling JSON: while decoding JSON: {error}");
    let parsed = Time::parse(RFC_3339, text.as_bytes()).map_err(failed)?;
    let spelled = parsed.rfc_3339().map_err(|error| failed(error.to_owned()))?;
    Ok(String::from_utf8_lossy(&spelled).into_owned())
}
