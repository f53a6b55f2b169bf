//! Where in which file something stands, in twelve bytes.

/// A file among the [`Files`] of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(u32);

impl FileId {
    /// What no file holds: a node that a program made.
    pub const NONE: Self = Self(0);
}

/// Line and column in a file. Both count from 1, columns in characters; 0 where nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Place {
    /// The file; [`FileId::NONE`] for what a program made.
    pub file: FileId,
    /// The line.
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl Place {
    /// The place of what no file holds.
    pub const NONE: Self = Self {
        file: FileId::NONE,
        line: 0,
        column: 0,
    };
}

/// The names of the files that nodes come from, as errors show them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    names: Vec<Box<str>>,
}

impl Files {
    /// Another file. The same name twice gives two files.
    pub fn add(&mut self, name: &str) -> FileId {
        self.names.push(name.into());
        FileId(u32::try_from(self.names.len()).unwrap_or(0))
    }

    /// The name that a file was added under; nothing for [`FileId::NONE`].
    #[must_use]
    pub fn name(&self, file: FileId) -> Option<&str> {
        let index = usize::try_from(file.0).ok()?.checked_sub(1)?;
        self.names.get(index).map(|name| &**name)
    }

    /// `path:line:col`, `path` where the line is not known, nothing where the file is not.
    #[must_use]
    pub fn show(&self, place: Place) -> Option<String> {
        let name = self.name(place.file)?;
        Some(match place.line {
            0 => name.to_owned(),
            line => format!("{name}:{line}:{}", place.column),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_as_compilers_do() {
        let mut files = Files::default();
        let file = files.add("overlay/patch.yaml");
        let place = |line, column| Place { file, line, column };
        assert_eq!(files.show(place(7, 3)).as_deref(), Some("overlay/patch.yaml:7:3"));
        assert_eq!(files.show(place(0, 0)).as_deref(), Some("overlay/patch.yaml"));
        assert_eq!(files.show(Place::NONE), None);
    }
}
