//! Charts of this machine: a folder or an archive, as `helm` reads them.

use bumpwright_helm::{Chart, ChartError, Folder, FolderEntry, ForeignError, MAX_CHART_BYTES};
use std::{
    fs::{self, FileType},
    io::{self, Read as _},
    path::{Path, PathBuf},
};
use thiserror::Error;

/// Why a path of this machine cannot be read as a chart, in Helm's words.
#[derive(Debug, Error)]
pub enum LocalError {
    /// A system call failed.
    #[error("{}", go_error(.call, .path, .error))]
    Io {
        /// Its name: `stat`.
        call: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// A file has too many bytes.
    #[error("chart file {} is larger than the maximum file size {most}", bumpwright_gostd::quote(.name))]
    Size {
        name: String,
        /// How many it may have.
        most: u64,
    },
    /// It is the text of something.
    #[error("file '{}' seems to be a YAML file, but expected a gzipped archive", .0.display())]
    Yaml(PathBuf),
    /// It is something else.
    #[error("file '{}' does not appear to be a gzipped archive; got '{content}'", .path.display())]
    NoArchive {
        path: PathBuf,
        /// What Go calls its content.
        content: &'static str,
    },
    /// It is a folder or an archive, and not a chart.
    #[error(transparent)]
    Chart(#[from] ChartError),
}

impl LocalError {
    fn io(call: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { call, path, error }
    }
}

/// Reads a chart: a folder, whose links are followed, or a `.tgz`.
pub fn read_chart(path: &Path) -> Result<Chart, LocalError> {
    let meta = fs::metadata(path).map_err(LocalError::io("stat", path))?;
    if meta.is_dir() {
        return Ok(Chart::from_folder(&Disk(path))?);
    }
    let archive = read(path, MAX_CHART_BYTES)?;
    if archive.starts_with(b"\x1f\x8b") {
        return Ok(Chart::from_archive(&archive)?);
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    Err(match extension {
        Some("yml" | "yaml" | "json") => LocalError::Yaml(path.to_owned()),
        _ => LocalError::NoArchive {
            path: path.to_owned(),
            content: content_type(&archive),
        },
    })
}

/// What Go calls the content of a file that is not an archive.
fn content_type(content: &[u8]) -> &'static str {
    let is_binary = |byte: &u8| matches!(byte, 0..=8 | 0x0b | 0x0e..=0x1a | 0x1c..=0x1f);
    if content.iter().take(512).any(is_binary) {
        "application/octet-stream"
    } else {
        "text/plain; charset=utf-8"
    }
}

/// The error of a system call, as Go writes it.
#[must_use]
pub fn go_error(call: &str, path: &Path, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "not a directory".to_owned(),
        _ => error.to_string(),
    };
    format!("{call} {}: {why}", path.display())
}

fn read(path: &Path, most: u64) -> Result<Vec<u8>, LocalError> {
    let file = fs::File::open(path).map_err(LocalError::io("open", path))?;
    let length = file.metadata().map_or(0, |meta| meta.len().min(most));
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0));
    let read = file.take(most + 1).read_to_end(&mut bytes);
    read.map_err(LocalError::io("read", path))?;
    if bytes.len() as u64 > most {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let name = name.into_owned();
        Err(LocalError::Size { name, most })
    } else {
        Ok(bytes)
    }
}

/// A folder of this machine.
struct Disk<'p>(&'p Path);

impl Folder for Disk<'_> {
    fn entry(&self, path: &str) -> Result<FolderEntry, ForeignError> {
        followed(&self.0.join(path))
    }

    fn names(&self, path: &str) -> Result<Vec<String>, ForeignError> {
        let entries = self.entries(path)?;
        Ok(entries.into_iter().map(|(name, _)| name).collect())
    }

    /// Folders say what their entries are, so that only links are looked at.
    fn entries(&self, path: &str) -> Result<Vec<(String, FolderEntry)>, ForeignError> {
        let folder = self.0.join(path);
        let found = listed(&folder).map_err(LocalError::io("open", &folder))?;
        let found = found.into_iter().map(|(name, kind)| {
            let entry = if kind.is_symlink() {
                followed(&folder.join(&name))?
            } else {
                entry_of(kind)
            };
            Ok((name, entry))
        });
        found.collect()
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, ForeignError> {
        Ok(read(&self.0.join(path), most)?)
    }
}

/// What there is at a path, or where a link there leads to.
fn followed(path: &Path) -> Result<FolderEntry, ForeignError> {
    match fs::metadata(path) {
        Ok(meta) => Ok(entry_of(meta.file_type())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(FolderEntry::Absent),
        Err(error) => Err(LocalError::io("lstat", path)(error).into()),
    }
}

fn entry_of(kind: FileType) -> FolderEntry {
    match kind {
        kind if kind.is_dir() => FolderEntry::Folder,
        kind if kind.is_file() => FolderEntry::File,
        _ => FolderEntry::Irregular,
    }
}

/// The names in a folder, sorted.
fn listed(path: &Path) -> io::Result<Vec<(String, FileType)>> {
    let entries = fs::read_dir(path)?;
    let mut listed = entries
        .map(|entry| entry.and_then(|entry| Ok((entry.file_name().to_string_lossy().into_owned(), entry.file_type()?))))
        .collect::<Result<Vec<_>, _>>()?;
    listed.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(listed)
}

#[cfg(test)]
mod tests {
    use super::read_chart;
    use std::{fs, os::unix::fs::symlink, path::Path};

    fn write(folder: &Path, files: &[(&str, &str)]) {
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    #[test]
    fn a_folder_is_read_with_its_links_and_without_what_is_ignored() {
        let temp = tempfile::tempdir().unwrap();
        let chart = temp.path().join("chart");
        write(
            temp.path(),
            &[
                ("chart/Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n"),
                ("chart/.helmignore", "secret/\n*.bak\n"),
                ("chart/secret/a.txt", "a"),
                ("chart/b.bak", "b"),
                ("chart/templates/a.yaml", "a: 1\n"),
                ("shared/_helpers.tpl", "{{ define \"x\" }}{{ end }}"),
            ],
        );
        symlink(temp.path().join("shared"), chart.join("templates/shared")).unwrap();
        fs::write(temp.path().join("values.yaml"), "b: 2\n").unwrap();
        symlink("../values.yaml", chart.join("values.yaml")).unwrap();
        let read = read_chart(&chart).unwrap();
        let templates: Vec<_> = read.templates.iter().map(|file| &*file.name).collect();
        assert_eq!(templates, ["templates/a.yaml", "templates/shared/_helpers.tpl"]);
        let files: Vec<_> = read.files.iter().map(|file| &*file.name).collect();
        assert_eq!(files, [".helmignore"]);
        let values = read.values_file.unwrap();
        assert_eq!(&*values.data, b"b: 2\n");
    }

    #[test]
    fn a_link_to_the_folder_above_ends_with_an_error() {
        let temp = tempfile::tempdir().unwrap();
        write(
            temp.path(),
            &[("Chart.yaml", "apiVersion: v2\nname: a\nversion: 1.0.0\n")],
        );
        symlink(temp.path(), temp.path().join("loop")).unwrap();
        let error = read_chart(temp.path()).unwrap_err().to_string();
        assert!(error.contains("levels"), "{error}");
    }

    #[test]
    fn what_is_no_archive_is_named() {
        let temp = tempfile::tempdir().unwrap();
        write(
            temp.path(),
            &[("a.yaml", "a: 1\n"), ("b.tgz", "plain"), ("c.tgz", "\0\u{1}")],
        );
        for (name, wanted) in [
            (
                "a.yaml",
                "a.yaml' seems to be a YAML file, but expected a gzipped archive",
            ),
            (
                "b.tgz",
                "b.tgz' does not appear to be a gzipped archive; got 'text/plain; charset=utf-8'",
            ),
            ("c.tgz", "got 'application/octet-stream'"),
            ("none", "no such file or directory"),
        ] {
            let error = read_chart(&temp.path().join(name)).unwrap_err().to_string();
            assert!(error.ends_with(wanted), "{error}");
        }
    }
}
