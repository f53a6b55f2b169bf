//! Places in files, in twelve bytes.

/// A file among the [`Files`] of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(u32);

impl FileId {
    /// No file: for nodes created by a program.
    pub const NONE: Self = Self(0);
}

/// Line and column in a file. Both count from 1, columns in characters; 0 where unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Place {
    /// The file; [`FileId::NONE`] for nodes created by a program.
    pub file: FileId,
    pub line: u32,
    /// The column, in characters.
    pub column: u32,
}

impl Place {
    /// The place of a node without a file.
    pub const NONE: Self = Self {
        file: FileId::NONE,
        line: 0,
        column: 0,
    };
}

/// The names of the files of nodes, as errors show them.
#[derive(Debug, Clone, Default)]
pub struct Files {
    sources: Vec<TextOrigin>,
}

/// The origin of a text.
#[derive(Debug, Clone)]
enum TextOrigin {
    /// A file with this name.
    File(Box<str>),
    /// A literal scalar at this place: its lines are those of the enclosing text, from the next one on.
    Literal(Place),
}

impl Files {
    /// Adds a file. The same name twice makes two files.
    pub fn add(&mut self, name: &str) -> FileId {
        self.push(TextOrigin::File(name.into()))
    }

    /// Adds the text of a literal scalar (`|`) at `place`, read by itself. Its places are shown as lines of the file;
    /// columns are not known there.
    pub fn add_literal(&mut self, place: Place) -> FileId {
        self.push(TextOrigin::Literal(place))
    }

    fn push(&mut self, source: TextOrigin) -> FileId {
        self.sources.push(source);
        FileId(u32::try_from(self.sources.len()).unwrap_or(0))
    }

    fn source(&self, file: FileId) -> Option<&TextOrigin> {
        let index = usize::try_from(file.0).ok()?.checked_sub(1)?;
        self.sources.get(index)
    }

    /// A place in a file, resolved if it is in a scalar of that file; column 0 then.
    #[must_use]
    pub fn in_file(&self, mut place: Place) -> Place {
        while let Some(TextOrigin::Literal(outer)) = self.source(place.file) {
            place = Place {
                line: outer.line.saturating_add(place.line),
                column: 0,
                ..*outer
            };
        }
        place
    }

    /// The name that a file was added with; `None` for [`FileId::NONE`].
    #[must_use]
    pub fn name(&self, file: FileId) -> Option<&str> {
        let place = self.in_file(Place { file, ..Place::NONE });
        match self.source(place.file)? {
            TextOrigin::File(name) => Some(name),
            TextOrigin::Literal(_) => None,
        }
    }

    /// `path:line:col`, `path:line` or `path`, as far as known; `None` without a file.
    #[must_use]
    pub fn show(&self, place: Place) -> Option<String> {
        let place = self.in_file(place);
        let name = self.name(place.file)?;
        Some(match (place.line, place.column) {
            (0, _) => name.to_owned(),
            (line, 0) => format!("{name}:{line}"),
            (line, column) => format!("{name}:{line}:{column}"),
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
        let outer = files.add_literal(place(7, 10));
        let inner = files.add_literal(Place {
            file: outer,
            line: 2,
            column: 8,
        });
        let third_line = |file| Place {
            file,
            line: 3,
            column: 5,
        };
        assert_eq!(files.show(third_line(outer)).as_deref(), Some("overlay/patch.yaml:10"));
        assert_eq!(files.show(third_line(inner)).as_deref(), Some("overlay/patch.yaml:12"));
    }
}
