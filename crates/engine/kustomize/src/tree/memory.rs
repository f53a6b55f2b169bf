//! A tree in memory: files by path, with symbolic links.

use super::{ResolvedPath, Tree, TreeError, path};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Files by path. Directories exist because they contain files, or because they were added.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree {
    entries: BTreeMap<String, Entry>,
    /// The names in each directory.
    directories: BTreeMap<String, BTreeSet<String>>,
    weight: u64,
}

#[derive(Debug, Clone)]
enum Entry {
    /// Hard links share their bytes.
    File(Arc<Vec<u8>>),
    Link(String),
}

/// The number of links that Linux follows before it reports a loop.
const MAX_LINKS: usize = 40;

/// Bytes of memory that an entry takes beside its path and content, and a directory beside its path.
const ENTRY: usize = 250;
const DIRECTORY: usize = 500;

impl MemoryTree {
    /// A tree with only its root.
    #[must_use]
    pub fn new() -> Self {
        let mut tree = Self::default();
        tree.directories.insert("/".to_owned(), BTreeSet::new());
        tree
    }

    /// Adds a file, with the directories above it.
    pub fn add_file(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        self.weight += bytes.capacity() as u64;
        self.put(path, Entry::File(Arc::new(bytes)));
    }

    /// Adds another name for an existing file, with the same bytes.
    ///
    /// # Errors
    ///
    /// The path does not exist or is not a file.
    pub fn add_hard_link(&mut self, path: &str, target: &str) -> Result<(), TreeError> {
        let linked = self.resolve(&path::clean(&format!("/{target}")))?;
        let Some(Entry::File(bytes)) = self.entries.get(&linked.path) else {
            return Err(TreeError::Directory(target.to_owned()));
        };
        let bytes = Arc::clone(bytes);
        self.put(path, Entry::File(bytes));
        Ok(())
    }

    /// The size of the tree in bytes of memory, never underestimated.
    #[must_use]
    pub const fn weight(&self) -> u64 {
        self.weight
    }

    /// Adds a symbolic link; a relative `target` counts from the link's directory.
    pub fn add_link(&mut self, path: &str, target: &str) {
        self.put(path, Entry::Link(target.to_owned()));
    }

    /// Adds an empty directory, with those above it.
    pub fn add_directory(&mut self, path: &str) {
        let mut directory = path::clean(&format!("/{path}"));
        let mut below = None;
        loop {
            let is_known = self.directories.contains_key(&directory);
            if !is_known {
                self.weight += (DIRECTORY + 2 * directory.len()) as u64;
            }
            self.directories.entry(directory.clone()).or_default().extend(below);
            if is_known || directory == "/" {
                break;
            }
            below = Some(path::base(&directory).to_owned());
            directory = path::parent(&directory).to_owned();
        }
    }

    fn put(&mut self, path: &str, entry: Entry) {
        let path = path::clean(&format!("/{path}"));
        let parent = path::parent(&path).to_owned();
        self.add_directory(&parent);
        let names = self.directories.entry(parent).or_default();
        names.insert(path::base(&path).to_owned());
        self.weight += (ENTRY + 2 * path.len()) as u64;
        let old = self.entries.insert(path, entry);
        // Other names of the file may remain.
        if let Some(bytes) = old.and_then(|old| match old {
            Entry::File(bytes) => Arc::into_inner(bytes),
            Entry::Link(_) => None,
        }) {
            self.weight -= bytes.capacity() as u64;
        }
    }

    /// The path with links resolved.
    fn resolve(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        let mut rest: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut done = String::from("/");
        let mut links = 0;
        while let Some(part) = rest.pop() {
            match part.as_str() {
                "" | "." => continue,
                ".." => {
                    done = path::parent(&done).to_owned();
                    continue;
                }
                _ => {}
            }
            if self.entries.contains_key(&done) {
                return Err(TreeError::File(done));
            }
            let next = path::join(&done, &part);
            match self.entries.get(&next) {
                Some(Entry::Link(target)) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(TreeError::Circle(path.to_owned()));
                    }
                    if path::is_absolute(target) {
                        "/".clone_into(&mut done);
                    }
                    rest.extend(target.split('/').rev().map(str::to_owned));
                }
                Some(Entry::File(_)) => done = next,
                None if self.directories.contains_key(&next) => done = next,
                None => return Err(TreeError::Missing(next)),
            }
        }
        let directory = !self.entries.contains_key(&done);
        Ok(ResolvedPath { path: done, directory })
    }
}

impl Tree for MemoryTree {
    fn read(&self, path: &str) -> Result<Cow<'_, [u8]>, TreeError> {
        let resolved = self.resolve(path)?;
        match self.entries.get(&resolved.path) {
            Some(Entry::File(bytes)) => Ok(Cow::Borrowed(bytes)),
            _ => Err(TreeError::Directory(path.to_owned())),
        }
    }

    fn canonical(&self, path: &str) -> Result<ResolvedPath, TreeError> {
        self.resolve(path)
    }

    fn list(&self, directory: &str) -> Result<Vec<String>, TreeError> {
        let resolved = self.resolve(directory)?;
        let names = self.directories.get(&resolved.path);
        let names = names.ok_or_else(|| TreeError::File(directory.to_owned()))?;
        Ok(names.iter().cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hard_links_have_the_bytes_of_the_file_and_weigh_a_name() {
        let mut tree = MemoryTree::new();
        tree.add_file("/a", vec![b'x'; 10_000]);
        for number in 0..100 {
            tree.add_hard_link(&format!("/links/{number}"), "a").unwrap();
        }
        assert!(tree.weight() < 50_000, "{}", tree.weight());
        tree.add_file("/a", "y");
        assert_eq!(tree.read("/links/99").unwrap().len(), 10_000);
        assert_eq!(
            tree.add_hard_link("/b", "links"),
            Err(TreeError::Directory("links".to_owned()))
        );
    }

    #[test]
    fn each_level_of_a_deep_path_weighs_its_own_path() {
        let mut tree = MemoryTree::new();
        tree.add_file(&"/directory".repeat(250), "");
        assert!(tree.weight() > 250 * 10 * 250 / 2, "{}", tree.weight());
    }

    #[test]
    fn links_are_followed_wherever_they_stand() {
        let mut tree = MemoryTree::new();
        tree.add_file("/base/x.yaml", "x");
        tree.add_link("/app/up", "../base");
        tree.add_link("/app/there", "/app/up/x.yaml");
        tree.add_link("/a", "/b");
        tree.add_link("/b", "a");
        assert_eq!(&*tree.read("/app/there").unwrap(), b"x");
        assert_eq!(tree.canonical("/app/up/x.yaml").unwrap().path, "/base/x.yaml");
        assert!(tree.canonical("/app/up").unwrap().directory);
        assert_eq!(tree.read("/a"), Err(TreeError::Circle("/a".to_owned())));
        assert_eq!(tree.read("/base"), Err(TreeError::Directory("/base".to_owned())));
        assert_eq!(tree.canonical("/base/y"), Err(TreeError::Missing("/base/y".to_owned())));
        assert_eq!(tree.list("/app/up").unwrap(), ["x.yaml"]);
        assert_eq!(tree.list("/").unwrap(), ["a", "app", "b", "base"]);
    }
}
