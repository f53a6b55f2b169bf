//! The files to look at, as trees, by their paths in their repositories.

use std::collections::BTreeSet;
use std::rc::Rc;

use bumpwright_api::Place;
use bumpwright_api::tree::{self, Node};
use bumpwright_kustomize::kustomization::NAMES;
use bumpwright_kustomize::tree::path;
use bumpwright_policy::PolicyName;

/// Depth of lists of objects in lists; real files have one.
const MAX_LIST_DEPTH: usize = 8;

/// A YAML file of the user, not parsed yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// As the user named it.
    pub name: String,
    /// Which of the repositories, or folders, it is in.
    pub root: usize,
    /// Its path there, `/` between its parts.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// A file as a tree.
#[derive(Debug)]
pub struct Parsed<'a> {
    pub source: &'a SourceFile,
    /// Empty when it is not text.
    pub text: &'a str,
    /// Its documents, those before an error too.
    pub documents: Vec<Rc<Node>>,
    /// Why it does not parse.
    pub error: Option<(Place, String)>,
}

/// All files of a migration as trees.
#[derive(Debug)]
pub struct Files<'a> {
    pub parsed: Vec<Parsed<'a>>,
}

impl<'a> Files<'a> {
    #[must_use]
    pub fn read(sources: &'a [SourceFile]) -> Self {
        let parsed = sources.iter().map(read).collect();
        Self { parsed }
    }

    /// A file as the user named it; its number is one of these files.
    pub(crate) fn name(&self, file: usize) -> &'a str {
        self.get(file).map_or("", |file| &file.source.name)
    }

    pub(crate) fn get(&self, file: usize) -> Option<&Parsed<'a>> {
        self.parsed.get(file)
    }

    /// The root element of the first document of a file.
    pub(crate) fn root(&self, file: usize) -> Option<&Node> {
        self.get(file)?.documents.first().map(|node| &**node)
    }

    /// The file at a path: of this repository, else of the only one that has it.
    pub(crate) fn at(&self, root: usize, path: &str) -> Option<usize> {
        let mut files = self.having(path);
        let own = files.clone().find(|(_, file)| file.source.root == root);
        let other = files.next().filter(|_| files.next().is_none());
        own.or(other).map(|(n, _)| n)
    }

    fn having<'s>(&'s self, path: &'s str) -> impl Iterator<Item = (usize, &'s Parsed<'a>)> + Clone {
        let files = self.parsed.iter().enumerate();
        files.filter(move |(_, file)| file.source.path == path)
    }

    /// The repository that has a folder: this one, else the only other one.
    pub(crate) fn folder(&self, root: usize, folder: &str) -> Option<usize> {
        let has = |file: &&Parsed<'_>| is_within(&file.source.path, folder);
        let roots: BTreeSet<usize> = self.parsed.iter().filter(has).map(|file| file.source.root).collect();
        if roots.contains(&root) {
            Some(root)
        } else {
            roots.first().copied().filter(|_| roots.len() == 1)
        }
    }

    /// The files below a folder.
    pub(crate) fn below(&self, root: usize, folder: &str) -> Vec<usize> {
        let files = self.parsed.iter().enumerate();
        files
            .filter(|(_, file)| file.source.root == root && is_within(&file.source.path, folder))
            .map(|(n, _)| n)
            .collect()
    }

    /// The kustomization of a folder.
    pub(crate) fn kustomization(&self, root: usize, folder: &str) -> Option<usize> {
        NAMES.iter().find_map(|name| self.at(root, &join(folder, name)))
    }

    /// The names of all objects of a kind; the namespace is empty where none is written.
    #[must_use]
    pub fn names(&self, kind: &str) -> BTreeSet<PolicyName> {
        let objects = self.objects().into_iter();
        let of_kind = objects.filter(|(_, node)| node.field_text("kind") == Some(kind));
        of_kind.filter_map(|(_, node)| object(node)).collect()
    }

    /// All objects, those of lists too, with the number of their file.
    #[must_use]
    pub fn objects(&self) -> Vec<(usize, &Node)> {
        let files = self.parsed.iter().enumerate();
        files
            .flat_map(|(n, file)| file.objects().into_iter().map(move |node| (n, node)))
            .collect()
    }
}

/// Whether a file that does not parse is a template of a Helm chart: one in its folder, with an action.
#[must_use]
pub fn is_chart_template(path: &str, bytes: &[u8]) -> bool {
    path.split('/').any(|part| part == "templates") && bytes.windows(2).any(|pair| pair == b"{{")
}

impl Parsed<'_> {
    /// Whether it is a template of a Helm chart, which is YAML only when it is rendered.
    pub(crate) fn is_chart_template(&self) -> bool {
        is_chart_template(&self.source.path, self.text.as_bytes())
    }

    /// Its objects, those of lists too.
    #[must_use]
    pub fn objects(&self) -> Vec<&Node> {
        let mut objects = Vec::new();
        for document in &self.documents {
            unwrap_lists(document, 0, &mut objects);
        }
        objects
    }
}

/// The namespace, empty where none is written, and the name of an object.
#[must_use]
pub fn object(node: &Node) -> Option<PolicyName> {
    let field = |key| node.field("metadata")?.field_text(key);
    Some(PolicyName::new(field("namespace").unwrap_or_default(), field("name")?))
}

fn read(source: &SourceFile) -> Parsed<'_> {
    let Ok(text) = std::str::from_utf8(&source.bytes) else {
        let place = Place { line: 1, column: 1 };
        return Parsed {
            source,
            text: "",
            documents: Vec::new(),
            error: Some((place, "it is not UTF-8 text".to_owned())),
        };
    };
    let (documents, error) = tree::parse(text);
    Parsed {
        source,
        text,
        documents,
        error: error.map(|error| (error.place, error.message)),
    }
}

fn unwrap_lists<'n>(node: &'n Node, depth: usize, out: &mut Vec<&'n Node>) {
    let is_list = node.field_text("kind").is_some_and(|kind| kind.ends_with("List"));
    match node.field("items").filter(|_| is_list && depth < MAX_LIST_DEPTH) {
        Some(items) => items.items().iter().for_each(|item| unwrap_lists(item, depth + 1, out)),
        None => out.push(node),
    }
}

pub(crate) fn is_within(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// A path from a folder, as Go's `path.Join`, never out of the repository.
#[must_use]
pub fn join(folder: &str, path: &str) -> String {
    let joined = path::join(&format!("/{folder}"), path);
    joined.trim_start_matches('/').to_owned()
}

/// The folder of a path.
#[must_use]
pub fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The folder that all of these are in.
pub fn common<'p>(folders: impl IntoIterator<Item = &'p str>) -> String {
    let mut folders = folders.into_iter().map(|folder| folder.split('/').collect::<Vec<_>>());
    let Some(mut shared) = folders.next() else {
        return String::new();
    };
    for folder in folders {
        let same = shared
            .iter()
            .zip(&folder)
            .take_while(|(one, other)| one == other)
            .count();
        shared.truncate(same);
    }
    shared.join("/")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn file(root: usize, path: &str) -> SourceFile {
        SourceFile {
            name: format!("{root}/{path}"),
            root,
            path: path.to_owned(),
            bytes: b"a: 1\n".to_vec(),
        }
    }

    #[test]
    fn paths_are_joined_within_the_repository() {
        for (folder, path, joined) in [
            ("apps/web", "values.yaml", "apps/web/values.yaml"),
            ("apps/web", "../../base", "base"),
            ("apps", "../../../x.yaml", "x.yaml"),
            ("", "./a//b", "a/b"),
            (".", "values.yaml", "values.yaml"),
        ] {
            assert_eq!(join(folder, path), joined);
        }
        assert_eq!(common(["apps/web", "apps/api/x"]), "apps");
        assert_eq!(common(["apps/web", "apps/web"]), "apps/web");
        assert_eq!(common(["a", "b"]), "");
    }

    #[test]
    fn a_file_is_looked_for_at_home_and_elsewhere_only_if_one_has_it() {
        let sources = [file(0, "a/x.yaml"), file(1, "a/x.yaml"), file(1, "b/y.yaml")];
        let files = Files::read(&sources);
        assert_eq!(files.at(1, "a/x.yaml"), Some(1));
        assert_eq!(files.at(0, "b/y.yaml"), Some(2));
        assert_eq!(files.at(2, "a/x.yaml"), None, "two have it");
        assert_eq!(files.folder(0, "b"), Some(1));
        assert_eq!(files.below(1, "a"), [1]);
    }
}
