//! From a tree to an archive: the tree's ignore rules, and the files that they leave.

use std::io::Write;

use super::tree::{Content, Directory, FileError, Files, Node, Resolved};
use bumpwright_artifact::{IgnoreFile, IgnoreRules, Verdict, Walk, WriteError, Writer};

/// Why a tree cannot be archived.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}")]
    Read { path: String, error: FileError },
    /// There are too many ignore rules.
    #[error("cannot read {path}: all ignore files may have {LONGEST_RULES} bytes together, with their paths")]
    Rules {
        /// The file that exceeds the limit.
        path: String,
    },
    /// The archive cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Limit on all ignore files of a tree together with their paths, in bytes.
const LONGEST_RULES: u64 = 1 << 20;

/// Fixed size of an ignore file towards the limit.
const RULES: u64 = 64;

/// The ignore rules of a tree: those of its `.sourceignore` files, and
/// `spec`, the `spec.ignore` (`LoadIgnorePatterns`).
///
/// # Errors
/// One of the files cannot be read.
pub fn rules(files: &Files, spec: Option<&str>) -> Result<IgnoreRules, ArchiveError> {
    let mut ignore_files = Texts {
        texts: Vec::new(),
        left: LONGEST_RULES,
    };
    collect(files, &files.root, &mut Vec::new(), &mut ignore_files)?;
    let texts = ignore_files
        .texts
        .iter()
        .map(|(directory, text)| IgnoreFile { directory, text });
    Ok(IgnoreRules::of_tree(texts, spec))
}

/// Ignore files.
struct Texts {
    /// Folder and text of each.
    texts: Vec<(Vec<u8>, Vec<u8>)>,
    /// Bytes left before the limit.
    left: u64,
}

impl Texts {
    fn add(&mut self, files: &Files, folder: &[u8], content: &Content) -> Result<(), ArchiveError> {
        let path = || String::from_utf8_lossy(folder).into_owned() + IgnoreRules::FILE_NAME;
        let own = folder.len() as u64 + RULES;
        let most = self.left.checked_sub(own);
        let text = most.map(|most| files.read(content, most));
        let text = match text {
            Some(Ok(text)) => text,
            Some(Err(FileError::TooLarge { .. })) | None => return Err(ArchiveError::Rules { path: path() }),
            Some(Err(error)) => return Err(ArchiveError::Read { path: path(), error }),
        };
        self.left = self.left.saturating_sub(own + text.len() as u64);
        self.texts.push((folder.to_vec(), text));
        Ok(())
    }
}

fn collect(files: &Files, directory: &Directory, path: &mut Vec<u8>, found: &mut Texts) -> Result<(), ArchiveError> {
    for (name, node) in &directory.entries {
        if name.as_slice() == IgnoreRules::FILE_NAME.as_bytes() {
            // A link is followed, within the tree.
            let here = String::from_utf8_lossy(path).into_owned() + IgnoreRules::FILE_NAME;
            let file = match node {
                Node::Link(_) => files.root.resolve(&here).and_then(|path| files.root.at(&path)),
                node => Some(Resolved::Other(node)),
            };
            if let Some(Resolved::Other(Node::File(file))) = file {
                found.add(files, path, &file.content)?;
            }
        }
        if let Node::Directory(inner) = node {
            let length = path.len();
            path.extend_from_slice(name);
            path.push(b'/');
            collect(files, inner, path, found)?;
            path.truncate(length);
        }
    }
    Ok(())
}

/// Writes the files that the rules leave of a tree, in archive order.
pub fn archive(files: &Files, rules: &IgnoreRules, writer: &mut Writer<impl Write>) -> Result<(), ArchiveError> {
    let mut archiving = Archiving {
        files,
        walk: rules.walk(),
        writer,
        path: Vec::new(),
    };
    archiving.directory(&files.root)
}

struct Archiving<'a, W: Write> {
    files: &'a Files,
    walk: Walk<'a>,
    writer: &'a mut Writer<W>,
    path: Vec<u8>,
}

impl<W: Write> Archiving<'_, W> {
    fn directory(&mut self, directory: &Directory) -> Result<(), ArchiveError> {
        for (name, node) in &directory.entries {
            let length = self.path.len();
            if length > 0 {
                self.path.push(b'/');
            }
            self.path.extend_from_slice(name);
            self.node(name, node)?;
            self.path.truncate(length);
        }
        Ok(())
    }

    fn node(&mut self, name: &[u8], node: &Node) -> Result<(), ArchiveError> {
        match node {
            Node::Directory(inner) => {
                let verdict = self.walk.enter(name);
                if verdict == Verdict::Kept {
                    self.writer.directory(&self.path)?;
                }
                if verdict != Verdict::IgnoredWithAllBelow {
                    self.directory(inner)?;
                }
                self.walk.leave();
            }
            Node::File(file) => {
                if !self.walk.ignores_file(name) {
                    let opened = self.files.open(&file.content);
                    let (size, bytes) = opened.map_err(|error| ArchiveError::Read {
                        path: String::from_utf8_lossy(&self.path).into_owned(),
                        error,
                    })?;
                    self.writer.file(&self.path, file.executable, size, bytes)?;
                }
            }
            Node::Link(_) => {}
        }
        Ok(())
    }
}
