//! `valuesFiles`: files that replace the values of a chart, merged in their order (source-controller
//! v1.9, `mergeFileValues` and `mergeChartValues`).

use bumpwright_helm::{Chart, Values, YamlError, merge_tables, read_table};
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use thiserror::Error;

/// Files that are merged at most.
const MOST: usize = 256;

/// Why files with values are not merged, in source-controller's words.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ValuesFilesError {
    /// Too many are named.
    #[error("{0} values files are named, {MOST} are allowed")]
    TooMany(usize),
    /// The source does not have one, or has a folder there.
    #[error("no values file found at path '{place}' (reference '{name}')")]
    NotInSource {
        /// Where it would be.
        place: String,
        /// As it is named.
        name: String,
    },
    /// The chart does not have one.
    #[error("no values file found at path '{0}'")]
    NotInChart(String),
    /// The source cannot be read.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A file does not have values.
    #[error("unmarshaling values from '{name}' failed: {problem}")]
    Unreadable {
        /// As it is named.
        name: String,
        #[source]
        problem: YamlError,
    },
}

impl ValuesFilesError {
    fn not_in_source(name: &str) -> Self {
        Self::NotInSource {
            place: path::join("/", name),
            name: name.to_owned(),
        }
    }
}

/// Where the files are.
#[derive(Clone, Copy)]
pub enum FilesOf<'a> {
    /// In the files of a source, by paths from their root.
    Source(&'a dyn Tree),
    Chart,
}

/// The files that a HelmChart names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValuesFiles {
    pub names: Vec<String>,
    /// Whether those that are not there are passed over.
    pub ignore_missing: bool,
}

impl ValuesFiles {
    /// Whether they are more than the chart's own `values.yaml`.
    #[must_use]
    pub fn count(&self) -> bool {
        match self.names.as_slice() {
            [] => false,
            [one] => path::clean(one) != "values.yaml",
            _ => true,
        }
    }

    /// The merged values, and the names of the files that were there.
    pub fn merged(&self, chart: &Chart, files: FilesOf<'_>) -> Result<(Values, Vec<String>), ValuesFilesError> {
        if self.names.len() > MOST {
            return Err(ValuesFilesError::TooMany(self.names.len()));
        }
        let (mut merged, mut used) = (Values::new(), Vec::new());
        for name in &self.names {
            let values_file = match files {
                FilesOf::Source(tree) => of_source(name, tree)?,
                FilesOf::Chart => of_chart(name, chart)?,
            };
            match values_file {
                Some(values) => {
                    merge_tables(&mut merged, values);
                    used.push(name.clone());
                }
                None if self.ignore_missing => {}
                None => {
                    return Err(match files {
                        FilesOf::Source(_) => ValuesFilesError::not_in_source(name),
                        FilesOf::Chart => ValuesFilesError::NotInChart(name.clone()),
                    });
                }
            }
        }
        Ok((merged, used))
    }
}

fn of_source(name: &str, tree: &dyn Tree) -> Result<Option<Values>, ValuesFilesError> {
    match tree.read(&path::join("/", name)) {
        Ok(bytes) => read(name, &bytes).map(Some),
        Err(TreeError::Missing(_)) => Ok(None),
        Err(TreeError::Directory(_)) => Err(ValuesFilesError::not_in_source(name)),
        Err(error) => Err(error.into()),
    }
}

fn of_chart(name: &str, chart: &Chart) -> Result<Option<Values>, ValuesFilesError> {
    let cleaned = path::clean(name);
    if cleaned == "values.yaml" {
        return Ok(Some(chart.values.clone()));
    }
    let named = chart.files.iter().find(|file| file.name == cleaned);
    named.map(|file| read(name, &file.data)).transpose()
}

fn read(name: &str, text: &[u8]) -> Result<Values, ValuesFilesError> {
    read_table(text).map_err(|problem| ValuesFilesError::Unreadable {
        name: name.to_owned(),
        problem,
    })
}

#[cfg(test)]
mod tests {
    use super::{FilesOf, ValuesFiles};
    use bumpwright_helm::Chart;
    use bumpwright_kustomize::tree::MemoryTree;

    fn files(names: &[&str], ignore_missing: bool) -> ValuesFiles {
        ValuesFiles {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ignore_missing,
        }
    }

    #[test]
    fn files_are_merged_in_their_order() {
        let mut tree = MemoryTree::new();
        tree.add_file("/a.yaml", "x: {k: 1, z: 1}\n---\nx: other\n");
        tree.add_file("/envs/b.yaml", "x: {k: 2}\n");
        let merged = |names: &[&str], ignore_missing| {
            let merged = files(names, ignore_missing).merged(&Chart::default(), FilesOf::Source(&tree));
            let merged = merged.map(|(values, used)| (serde_json::to_string(&values).unwrap(), used.len()));
            merged.map_err(|error| error.to_string())
        };
        let both = ("{\"x\":{\"k\":2.0,\"z\":1.0}}".to_owned(), 2);
        assert_eq!(merged(&["a.yaml", "./envs/b.yaml"], false), Ok(both.clone()));
        assert_eq!(merged(&["a.yaml", "none.yaml", "envs/b.yaml"], true), Ok(both));
        let error = "no values file found at path '/none.yaml' (reference '../none.yaml')".to_owned();
        assert_eq!(merged(&["../none.yaml"], false), Err(error));
        assert!(merged(&["envs"], true).is_err());
        assert!(merged(&["a.yaml"; 257], false).unwrap_err().contains("256 are allowed"));
        assert!(!files(&["./values.yaml"], false).count() && files(&["a.yaml"], false).count());
    }
}
