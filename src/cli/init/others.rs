//! Files that may name images and that are not YAML: they are left alone, and that is said.

use std::path::Path;

use crate::cli::words;
use bumpwright_edit::{FileKind, Format, Formats, OWN_FOLDER, kind_of};

/// The formats that are reported, what their files are called, and how a field of them is marked.
const TOLD: [(Format, &str, &str); 3] = [
    (Format::Docker, "Dockerfile", "--formats docker --image IMAGE"),
    (Format::Hcl, "Terraform file", "--formats hcl --image IMAGE"),
    (Format::Env, ".env file", "--formats env --field FILE:LINE --part tag"),
];

/// The files of each of these formats.
#[derive(Default)]
pub(super) struct Others([Vec<String>; TOLD.len()]);

impl Others {
    /// Takes a file below the folder that is searched, if it is one of them.
    pub(super) fn see(&mut self, root: &Path, path: &str) {
        let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(path));
        let folders = below.parent().into_iter().flat_map(Path::components);
        let mut names = folders.map(|part| part.as_os_str().to_string_lossy());
        if names.any(|name| name.starts_with('.') && name.len() > 1 && name != ".." && name != OWN_FOLDER) {
            return;
        }
        let kind = kind_of(path, Formats::all());
        let mut formats = self.0.iter_mut().zip(TOLD);
        if let Some((files, _)) = formats.find(|(_, (format, ..))| kind == FileKind::Text(*format)) {
            files.push(path.to_owned());
        }
    }

    /// A line for each format.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        self.0.iter().zip(TOLD).filter_map(|(files, (_, what, flags))| {
            let first = files.first()?;
            let (left, such) = match files.len() {
                1 => (format!("1 {what} was left as it is"), ""),
                more => (format!("{more} {what}s were left as they are"), "such as "),
            };
            Some(format!(
                "{left} ({such}{}), since markers are proposed for YAML alone: `bumpwright markers add {flags} --policy NS:NAME` adds one there",
                words::inline(first)
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_file_that_is_no_yaml_is_told_once() {
        let mut others = Others::default();
        for path in [
            "repo/Dockerfile",
            "repo/web/Dockerfile",
            "repo/.env",
            "repo/.git/web.env",
            "repo/compose.yaml",
            "repo/package.json",
        ] {
            others.see(Path::new("repo"), path);
        }
        let notes: Vec<String> = others.notes().collect();
        assert_eq!(
            notes,
            [
                "2 Dockerfiles were left as they are (such as repo/Dockerfile), since markers are proposed for YAML alone: `bumpwright markers add \
                 --formats docker --image IMAGE --policy NS:NAME` adds one there",
                "1 .env file was left as it is (repo/.env), since markers are proposed for YAML alone: `bumpwright markers add --formats env \
                 --field FILE:LINE --part tag --policy NS:NAME` adds one there",
            ]
        );
    }
}
