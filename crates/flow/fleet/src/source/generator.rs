//! Artifacts that an ArtifactGenerator makes of other sources (fluxcd/source-watcher v2.2, `internal/builder`).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::copied::Copied;
use super::error::{CopyError, GeneratorError};
use super::files::clean;
use super::glob;
use super::repository::Repository;
use bumpwright_artifact::IgnoreRules;
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use bumpwright_text::Cuts;
use bumpwright_yaml::{FileId, json_of_node, node_of_json, read_resources, write_sigs};

/// The group of ArtifactGenerators.
pub(crate) const GROUP: &str = "source.extensions.fluxcd.io";

/// `spec` of an ArtifactGenerator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Generator {
    pub(crate) sources: Vec<SourceReference>,
    path_pattern: String,
    artifacts: Vec<OutputArtifact>,
}

/// A source of an ArtifactGenerator.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SourceReference {
    pub(crate) alias: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    /// Empty for that of the generator.
    pub(crate) namespace: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct OutputArtifact {
    name: String,
    copy: Vec<Copy>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Copy {
    from: String,
    to: String,
    exclude: Vec<String>,
    strategy: String,
}

/// The sources of a generator by alias.
pub(crate) type Sources<'a> = BTreeMap<String, Arc<dyn Repository + 'a>>;

impl Generator {
    /// Reads the spec of an object.
    pub(crate) fn of(object: &Value) -> Option<Self> {
        serde_json::from_value(object.get("spec")?.clone()).ok()
    }

    /// Whether it may make an artifact of this name.
    pub(crate) fn may_make(&self, name: &str) -> bool {
        let is_template = !self.path_pattern.is_empty();
        self.artifacts.iter().any(|artifact| {
            if is_template {
                captures(&artifact.name, name, true).is_some()
            } else {
                artifact.name == name
            }
        })
    }

    /// Makes the artifact of a name; None if the generator does not define it.
    pub(crate) fn make<'a>(&self, name: &str, sources: &Sources<'a>) -> Result<Option<Copied<'a>>, GeneratorError> {
        let wanted = match self.path_pattern.as_str() {
            "" => self.artifacts.iter().find(|artifact| artifact.name == name).cloned(),
            pattern => self.rendered(pattern, name, sources)?,
        };
        wanted.map(|artifact| made(&artifact, sources)).transpose()
    }

    /// The artifact of a directory that `pathPattern` matches.
    fn rendered(
        &self,
        pattern: &str,
        name: &str,
        sources: &Sources<'_>,
    ) -> Result<Option<OutputArtifact>, GeneratorError> {
        let (alias, pattern) = source_of(pattern).ok_or_else(|| GeneratorError::Pattern(pattern.to_owned()))?;
        let source = sources.get(alias).ok_or_else(|| GeneratorError::PatternSource {
            pattern: pattern.to_owned(),
            alias: alias.to_owned(),
        })?;
        let mut folders = Vec::new();
        directories(&*source.tree(), "/", &mut folders)?;
        for folder in folders {
            let Some(raw) = captures(pattern, folder.trim_start_matches('/'), false) else {
                continue;
            };
            let lower: Captures = raw
                .iter()
                .map(|(key, value)| (key.clone(), value.to_lowercase()))
                .collect();
            let mut artifacts = self.artifacts.iter();
            if let Some(artifact) = artifacts.find(|one| rendered(&one.name, &lower) == name) {
                let copy = artifact.copy.iter().map(|copy| Copy {
                    from: rendered(&copy.from, &raw),
                    to: rendered(&copy.to, &raw),
                    ..copy.clone()
                });
                return Ok(Some(OutputArtifact {
                    name: name.to_owned(),
                    copy: copy.collect(),
                }));
            }
        }
        Ok(None)
    }
}

/// Values by the names of captures.
type Captures = BTreeMap<String, String>;

/// The values of `{name}`s in a template that a text has, each without a slash. `again` lets a
/// name occur several times.
fn captures(template: &str, text: &str, again: bool) -> Option<Captures> {
    let Some((before, rest)) = template.split_once('{') else {
        return (template == text).then(Captures::new);
    };
    let text = text.strip_prefix(before)?;
    let (name, template) = rest.split_once('}')?;
    let longest = text.find('/').unwrap_or(text.len());
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let mut ends: Vec<usize> = ends.filter(|at| (1..=longest).contains(at)).collect();
    ends.reverse();
    ends.into_iter().find_map(|end| {
        let (value, text) = text.split_at_checked(end)?;
        let mut captured = captures(template, text, again)?;
        match captured.insert(name.to_owned(), value.to_owned()) {
            Some(_) if !again => None,
            _ => Some(captured),
        }
    })
}

/// A template with its values.
fn rendered(template: &str, values: &Captures) -> String {
    let mut out = template.to_owned();
    for (name, value) in values {
        out = out.replace(&format!("{{{name}}}"), value);
    }
    out
}

fn directories(tree: &dyn Tree, folder: &str, found: &mut Vec<String>) -> Result<(), TreeError> {
    for name in tree.list(folder)? {
        let below = path::join(folder, &name);
        if tree.canonical(&below)?.directory {
            found.push(below.clone());
            directories(tree, &below, found)?;
        }
    }
    Ok(())
}

/// `@alias/path`
fn source_of(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('@')?.split_once('/')
}

fn made<'a>(artifact: &OutputArtifact, sources: &Sources<'a>) -> Result<Copied<'a>, GeneratorError> {
    let mut staging = Staging {
        copied: Copied::default(),
        numbers: BTreeMap::new(),
        sources,
    };
    for copy in &artifact.copy {
        staging.apply(copy).map_err(|problem| GeneratorError::Copy {
            from: copy.from.clone(),
            to: copy.to.clone(),
            problem: Box::new(problem),
        })?;
    }
    let mut copied = staging.copied;
    // Archived with the default patterns, whatever the files say.
    copied.filter(&IgnoreRules::of_tree([], None));
    Ok(copied)
}

/// An artifact in the making.
struct Staging<'a, 's> {
    copied: Copied<'a>,
    numbers: BTreeMap<String, usize>,
    sources: &'s Sources<'a>,
}

/// A copy, with its source.
struct Operation<'s> {
    copy: &'s Copy,
    tree: Box<dyn Tree + 's>,
    number: usize,
    /// The directory to which patterns of `exclude` may be relative.
    base: String,
}

impl<'s> Staging<'_, 's> {
    fn apply(&mut self, copy: &'s Copy) -> Result<(), CopyError> {
        let (alias, from) = source_of(&copy.from).ok_or_else(|| CopyError::From(copy.from.clone()))?;
        let to = copy.to.strip_prefix("@artifact/");
        let to = to.ok_or_else(|| CopyError::To(copy.to.clone()))?;
        let sources = self.sources;
        let source = sources.get(alias);
        let source = source.ok_or_else(|| CopyError::NoSource(alias.to_owned()))?;
        if copy.strategy == "Extract" {
            return Err(CopyError::Extract);
        }
        let number = match self.numbers.get(alias) {
            Some(number) => *number,
            None => self.copied.add_source(source),
        };
        self.numbers.insert(alias.to_owned(), number);
        let mut operation = Operation {
            copy,
            tree: source.tree(),
            number,
            base: String::new(),
        };
        if glob::is_pattern(from) {
            self.pattern(&mut operation, (alias, from), to)
        } else {
            self.single(&mut operation, &clean(from), to)
        }
    }

    fn pattern(
        &mut self,
        operation: &mut Operation<'_>,
        (alias, from): (&str, &str),
        to: &str,
    ) -> Result<(), CopyError> {
        let literal = from.split('/').take_while(|part| !glob::is_pattern(part));
        operation.base = literal.collect::<Vec<_>>().join("/");
        let matches = glob::paths(&*operation.tree, from);
        if matches.is_empty() {
            let (pattern, alias) = (from.to_owned(), alias.to_owned());
            return Err(CopyError::NoMatch { pattern, alias });
        }
        let kept: Vec<String> = matches.into_iter().filter(|path| !operation.excludes(path)).collect();
        if kept.is_empty() {
            let (pattern, alias) = (from.to_owned(), alias.to_owned());
            return Err(CopyError::AllExcluded { pattern, alias });
        }
        // `dir/**` is the content of the directory.
        let prefix = match from.strip_suffix("/**") {
            Some(prefix) if !glob::is_pattern(prefix) => clean(prefix),
            _ => String::new(),
        };
        self.copied
            .note(operation.number, &format!("/{prefix}"), &format!("/{}", clean(to)));
        for found in kept {
            let below = match found.strip_prefix(prefix.as_str()) {
                Some(rest) => rest,
                None => found.as_str(),
            };
            self.copy(operation, &found, &clean(&format!("{to}/{below}")))?;
        }
        Ok(())
    }

    fn single(&mut self, operation: &mut Operation<'_>, from: &str, to: &str) -> Result<(), CopyError> {
        let canonical = operation.tree.canonical(&format!("/{from}"));
        let is_directory = canonical.map_err(|_| CopyError::Missing(from.to_owned()))?.directory;
        let name = from.behind_last('/');
        let put = format!("/{}", clean(to));
        if is_directory {
            operation.base = from.to_owned();
        } else if operation.excludes(from) {
            return Ok(());
        }
        let is_inside = is_directory
            || to.ends_with('/')
            || to.is_empty()
            || self.copied.canonical(&put).is_some_and(|canonical| canonical.directory);
        let put = if is_inside {
            clean(&format!("{to}/{name}"))
        } else {
            clean(to)
        };
        self.copied
            .note(operation.number, &format!("/{from}"), &format!("/{put}"));
        self.copy(operation, from, &put)
    }

    /// Copies a file, or a directory with all that is below it. Paths without a leading slash.
    fn copy(&mut self, operation: &Operation<'_>, from: &str, to: &str) -> Result<(), CopyError> {
        let (from, to) = (format!("/{from}"), format!("/{to}"));
        let tree = &*operation.tree;
        if tree.canonical(&from)?.directory {
            let excluded = |path: &str| operation.excludes(path.trim_start_matches('/'));
            let copied = self
                .copied
                .put_directory(tree, operation.number, (&from, &to), &excluded);
            return Ok(copied?);
        }
        let is_there = self.copied.canonical(&to).is_some();
        if operation.copy.strategy == "Merge" && is_there {
            let mut merged = one_document(&self.copied.content(&to)?)?;
            merge(&mut merged, one_document(&tree.read(&from)?)?);
            let mut text = String::new();
            write_sigs(&node_of_json(&merged), &mut text)?;
            return Ok(self.copied.put_bytes(&to, text.into_bytes())?);
        }
        Ok(self.copied.put_file(operation.number, &from, &to)?)
    }
}

impl Operation<'_> {
    /// Whether a path of the source, without a leading slash, is excluded: as it is, below the base, or by its name.
    fn excludes(&self, path: &str) -> bool {
        let name = path.behind_last('/');
        let below = path
            .strip_prefix(self.base.as_str())
            .and_then(|rest| rest.strip_prefix('/'));
        self.copy.exclude.iter().any(|pattern| {
            let is_name = !pattern.contains('/');
            let matches = |text: &str| glob::matches(pattern, text);
            matches(path) || below.is_some_and(matches) || (is_name && matches(name))
        })
    }
}

/// All documents of a file, merged into one.
fn one_document(bytes: &[u8]) -> Result<Value, CopyError> {
    let mut document = Value::Object(serde_json::Map::new());
    for node in read_resources(bytes, FileId::NONE)? {
        merge(&mut document, json_of_node(&node)?);
    }
    Ok(document)
}

/// Puts the fields of one document over those of another: maps are merged, everything else is replaced.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(&key) {
                    Some(own) if own.is_object() && value.is_object() => merge(own, value),
                    _ => drop(base.insert(key, value)),
                }
            }
        }
        (base, over) if !over.is_null() => *base = over,
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::source::error::SourceError;
    use bumpwright_kustomize::tree::MemoryTree;
    use serde_json::json;

    struct Memory(MemoryTree);

    impl Repository for Memory {
        fn tree(&self) -> Box<dyn Tree + '_> {
            Box::new(self.0.clone())
        }

        fn ignoring(&self, _: &str) -> Result<Box<dyn Repository + '_>, SourceError> {
            Err(SourceError::NotMade("not needed".to_owned()))
        }
    }

    const FILES: [&str; 7] = [
        "apps/base/kustomization.yaml",
        "apps/base/web/app.yaml",
        "apps/base/README.md",
        "apps/production/kustomization.yaml",
        "apps/production/.sops.yaml",
        "apps/production/testdata/x.yaml",
        "notes.txt",
    ];

    fn made(spec: Value, name: &str) -> Result<Option<Vec<String>>, String> {
        let mut tree = MemoryTree::new();
        for file in FILES {
            tree.add_file(&format!("/{file}"), file);
        }
        tree.add_file("/values.yaml", "a: {b: 1, c: [1]}\n");
        tree.add_file("/more.yaml", "a: {c: [2]}\n---\nd: 3\n");
        let source: Arc<dyn Repository> = Arc::new(Memory(tree));
        let sources = Sources::from([("repo".to_owned(), source)]);
        let generator = Generator::of(&json!({"spec": spec})).unwrap();
        let made = generator.make(name, &sources).map_err(|error| error.to_string())?;
        let Some(made) = made else { return Ok(None) };
        let tree = made.tree();
        let mut all = Vec::new();
        directories(&*tree, "/", &mut all).unwrap();
        all.push("/".to_owned());
        let mut files = Vec::new();
        for folder in all {
            for name in tree.list(&folder).unwrap() {
                let path = path::join(&folder, &name);
                if !tree.canonical(&path).unwrap().directory {
                    let content = String::from_utf8(tree.read(&path).unwrap().into_owned()).unwrap();
                    files.push(if FILES.contains(&content.as_str()) {
                        format!("{path}={content}")
                    } else {
                        format!("{path}: {content}")
                    });
                }
            }
        }
        files.sort();
        Ok(Some(files))
    }

    fn copies(copies: Value) -> Result<Vec<String>, String> {
        made(json!({"artifacts": [{"name": "one", "copy": copies}]}), "one").map(Option::unwrap)
    }

    #[test]
    fn copies_have_the_semantics_of_cp() {
        let copy = |from: &str, to: &str| copies(json!([{"from": from, "to": to}]));
        assert_eq!(
            copy("@repo/apps/base/**", "@artifact/base/").unwrap(),
            [
                "/base/README.md=apps/base/README.md",
                "/base/kustomization.yaml=apps/base/kustomization.yaml",
                "/base/web/app.yaml=apps/base/web/app.yaml"
            ]
        );
        // Below a directory of its own name; `.sops.yaml` is never archived.
        assert_eq!(
            copy("@repo/apps/production/", "@artifact/x").unwrap(),
            [
                "/x/production/kustomization.yaml=apps/production/kustomization.yaml",
                "/x/production/testdata/x.yaml=apps/production/testdata/x.yaml"
            ]
        );
        assert_eq!(
            copy("@repo/notes.txt", "@artifact/a.txt").unwrap(),
            ["/a.txt=notes.txt"]
        );
        assert_eq!(
            copy("@repo/notes.txt", "@artifact/a/").unwrap(),
            ["/a/notes.txt=notes.txt"]
        );
        assert_eq!(
            copy("@repo/apps/*/kustomization.yaml", "@artifact/").unwrap(),
            [
                "/apps/base/kustomization.yaml=apps/base/kustomization.yaml",
                "/apps/production/kustomization.yaml=apps/production/kustomization.yaml"
            ]
        );
        let error = copy("@repo/none/*", "@artifact/").unwrap_err();
        assert!(
            error.contains("no files match pattern 'none/*' in source 'repo'"),
            "{error}"
        );
        let error = copy("@other/x", "@artifact/").unwrap_err();
        assert!(error.contains("source alias 'other' not found"), "{error}");
    }

    #[test]
    fn files_are_excluded_and_merged() {
        let excluded = copies(json!([
            {"from": "@repo/apps/**", "to": "@artifact/", "exclude": ["*.md", "**/testdata/**", "base/web/**"]}
        ]));
        assert_eq!(
            excluded.unwrap(),
            [
                "/base/kustomization.yaml=apps/base/kustomization.yaml",
                "/production/kustomization.yaml=apps/production/kustomization.yaml"
            ]
        );
        let merged = copies(json!([
            {"from": "@repo/values.yaml", "to": "@artifact/values.yaml"},
            {"from": "@repo/more.yaml", "to": "@artifact/values.yaml", "strategy": "Merge"},
        ]));
        assert_eq!(merged.unwrap(), ["/values.yaml: a:\n  b: 1\n  c:\n  - 2\nd: 3\n"]);
    }

    #[test]
    fn a_path_pattern_makes_an_artifact_for_each_directory() {
        let spec = json!({
            "pathPattern": "@repo/apps/{env}",
            "artifacts": [{"name": "app-{env}", "copy": [{"from": "@repo/apps/{env}/*.yaml", "to": "@artifact/"}]}],
        });
        let base = made(spec.clone(), "app-base").unwrap().unwrap();
        assert_eq!(base, ["/apps/base/kustomization.yaml=apps/base/kustomization.yaml"]);
        assert_eq!(made(spec, "app-none"), Ok(None));
    }
}
