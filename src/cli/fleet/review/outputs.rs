//! Where a review goes: files, each whole or not at all, and standard output.

use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::cli::console::{cannot_print, print, print_styled};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::fleet::review_args::{ReviewFormat, ReviewOutput};
use clap::ValueEnum as _;

/// What the user's mask takes rights from.
const MODE: u32 = 0o666;

/// A review in a format.
type Rendered<'a> = &'a dyn Fn(ReviewFormat) -> Result<String, CliError>;

/// Refuses several outputs in one place, before any work.
///
/// # Errors
/// Two are printed, or two are for one file.
pub(super) fn check(outputs: &[ReviewOutput]) -> Result<(), CliError> {
    for (at, one) in outputs.iter().enumerate() {
        let Some(other) = outputs.iter().skip(at + 1).find(|other| other.file == one.file) else {
            continue;
        };
        let (first, second) = (word(one.format), word(other.format));
        return Err(match &one.file {
            Some(file) => CliError::new(format!("--output: {first} and {second} are for the same file"))
                .at(file.display())
                .hint("give each a file of its own"),
            None => CliError::new(format!(
                "--output: expected one format to print, got {first} and {second}"
            ))
            .hint(format!("write one to a file: --output {second}=FILE")),
        });
    }
    Ok(())
}

/// The format that is printed; none if all are for files.
pub(super) fn printed(outputs: &[ReviewOutput]) -> Option<ReviewFormat> {
    let one = outputs.iter().find(|output| output.file.is_none())?;
    Some(one.format)
}

/// Writes the files, then prints.
///
/// # Errors
/// A file or standard output cannot be written; for users.
pub(super) fn write(outputs: &[ReviewOutput], rendered: Rendered<'_>) -> Result<(), CliError> {
    for output in outputs {
        if let Some(file) = &output.file {
            let text = rendered(output.format)?;
            replace(file, text.as_bytes()).at(file.display()).at("--output")?;
        }
    }
    match printed(outputs) {
        Some(format) => print_one(format, rendered),
        None => Ok(()),
    }
}

/// Prints one format.
///
/// # Errors
/// Standard output cannot be written; for users.
pub(super) fn print_one(format: ReviewFormat, rendered: Rendered<'_>) -> Result<(), CliError> {
    let text = rendered(format)?;
    match format {
        ReviewFormat::Text => print_styled(&text),
        _ => print(text.as_bytes()),
    }
    .map_err(cannot_print)
}

/// The name of a format, as it is typed.
fn word(format: ReviewFormat) -> String {
    let value = format.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Puts a whole file into the place of another one. What is not a file, such as a pipe, is written to.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path: PathBuf = match fs::metadata(path) {
        Ok(meta) if !meta.is_file() => return fs::write(path, bytes),
        // A link stays one.
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => path.to_owned(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut file = tempfile::Builder::new()
        .prefix(".bumpwright-")
        .permissions(Permissions::from_mode(MODE))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(&path)?;
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn output(format: ReviewFormat, file: Option<&str>) -> ReviewOutput {
        ReviewOutput {
            format,
            file: file.map(PathBuf::from),
        }
    }

    #[test]
    fn two_outputs_have_two_places() {
        let (text, json) = (output(ReviewFormat::Text, None), output(ReviewFormat::Json, None));
        let (sarif, html) = (
            output(ReviewFormat::Sarif, Some("a")),
            output(ReviewFormat::Html, Some("a")),
        );
        assert!(check(&[text.clone(), sarif.clone()]).is_ok());
        assert_eq!(printed(&[sarif.clone(), json.clone()]), Some(ReviewFormat::Json));
        assert_eq!(printed(std::slice::from_ref(&sarif)), None);
        let said = check(&[text, sarif.clone(), json]).unwrap_err().to_string();
        assert!(
            said.contains("expected one format to print, got text and json"),
            "{said}"
        );
        let said = check(&[sarif, html]).unwrap_err().to_string();
        assert!(said.starts_with("a: --output: sarif and html"), "{said}");
    }

    #[test]
    fn a_file_takes_the_place_of_another_one_and_a_link_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        replace(&file, b"long text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"text").unwrap();
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"text");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        assert!(replace(&folder.path().join("none/file"), b"text").is_err());
        assert!(replace(folder.path(), b"text").is_err());
    }
}
