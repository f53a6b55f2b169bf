//! What `fleet review` writes and posts, as typed.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use clap::builder::{EnumValueParser, NonEmptyStringValueParser, PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Args, Command, Error, ValueEnum, value_parser};

use bumpwright_forge::{ForgeApi, ReviewApi};

/// The longest name of a comment, in characters.
const LONGEST_NAME: usize = 100;

/// The formats of `fleet review`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReviewFormat {
    /// The differences, the impact, and a line for each new finding
    Text,
    /// For a comment: a short summary, and the rest folded
    Markdown,
    /// One document (docs/reference/review.schema.json)
    Json,
    /// The new findings as a SARIF 2.1.0 log, for code scanning
    Sarif,
    /// The new findings as a JUnit XML document, for test reports
    Junit,
    /// The new findings as workflow commands of GitHub Actions
    Github,
    /// A review for a change at Gerrit, with a vote: post it with `ssh HOST gerrit review --json COMMIT`
    Gerrit,
    /// A page, for the artifacts of a job
    Html,
}

/// One output: a format, and the file for it; without one it is printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewOutput {
    pub format: ReviewFormat,
    pub file: Option<PathBuf>,
}

/// Reads `FORMAT` or `FORMAT=FILE`.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputParser;

impl TypedValueParser for OutputParser {
    type Value = ReviewOutput;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<ReviewOutput, Error> {
        let bytes = value.as_bytes();
        let (format, file) = match bytes
            .iter()
            .position(|byte| *byte == b'=')
            .and_then(|at| bytes.split_at_checked(at))
        {
            Some((format, file)) => (OsStr::from_bytes(format), file.strip_prefix(b"=")),
            None => (value, None),
        };
        let format = EnumValueParser::<ReviewFormat>::new().parse_ref(command, arg, format)?;
        if file.is_some_and(<[u8]>::is_empty) {
            let text = format!("'{}' has no file: expected FORMAT=FILE", value.display());
            return Err(Error::raw(ErrorKind::InvalidValue, text).with_cmd(command));
        }
        Ok(ReviewOutput {
            format,
            file: file.map(|file| PathBuf::from(OsStr::from_bytes(file))),
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let formats = ReviewFormat::value_variants().iter();
        Some(Box::new(formats.filter_map(ValueEnum::to_possible_value)))
    }
}

/// The comment with the review; each flag but the first needs that.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Comment")]
pub struct CommentArgs {
    /// Keep one comment with the review at the pull or merge request of this job of GitHub Actions, Gitea, Forgejo or
    /// GitLab CI, or at the one of --request [default: guessed from the job or the host]
    #[arg(long, value_name = "FORGE", num_args = 0..=1, require_equals = true, value_enum)]
    pub comment: Option<Option<CommentForge>>,

    /// The number of the request [default: the one of the job]
    #[arg(long, value_name = "NUMBER", requires = "comment", value_parser = value_parser!(u64).range(1..))]
    pub request: Option<u64>,

    /// A name for the comment, where several jobs have one each
    #[arg(long, value_name = "NAME", requires = "comment", value_parser = name)]
    pub comment_name: Option<String>,

    /// The API of the forge [default: the one of the job, else derived from the repository's address]
    #[arg(long, value_name = "URL", requires = "comment", value_parser = NonEmptyStringValueParser::new())]
    pub pull_request_api: Option<String>,

    /// File with a token for the API (or BUMPWRIGHT_PULL_REQUEST_TOKEN) [default: in GitHub Actions, Gitea and Forgejo
    /// GITHUB_TOKEN; without a job Git's credentials for the same server]
    #[arg(long, value_name = "FILE", requires = "comment")]
    pub pull_request_token_file: Option<PathBuf>,
}

/// APIs of forges that have comments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CommentForge {
    /// GitHub, also Enterprise
    Github,
    /// Gitea and Forgejo
    Gitea,
    /// GitLab
    Gitlab,
}

impl From<CommentForge> for ReviewApi {
    fn from(forge: CommentForge) -> Self {
        match forge {
            CommentForge::Github => Self::Forge(ForgeApi::GitHub),
            CommentForge::Gitea => Self::Forge(ForgeApi::Gitea),
            CommentForge::Gitlab => Self::GitLab,
        }
    }
}

/// Reads a name: it is a part of a comment in HTML.
fn name(text: &str) -> Result<String, &'static str> {
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    if is_plain && (1..=LONGEST_NAME).contains(&text.len()) {
        Ok(text.to_owned())
    } else {
        Err("expected 1 to 100 letters, digits, '.', '_' and '-'")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ReviewOutput, Error> {
        OutputParser.parse_ref(&Command::new("review"), None, OsStr::new(text))
    }

    #[test]
    fn an_output_is_a_format_and_perhaps_a_file() {
        for (text, format, file) in [
            ("text", ReviewFormat::Text, None),
            ("sarif=review.sarif", ReviewFormat::Sarif, Some("review.sarif")),
            ("html=out/a=b.html", ReviewFormat::Html, Some("out/a=b.html")),
        ] {
            let output = read(text).unwrap();
            assert_eq!(
                (output.format, output.file),
                (format, file.map(PathBuf::from)),
                "{text}"
            );
        }
        for text in ["", "=", "=a", "sarif=", "yaml", "yaml=a", "SARIF=a"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_name_ends_no_comment_of_html() {
        assert!(name("review").is_ok() && name("a.b_c-1").is_ok());
        for text in ["", "a b", "a>", "ü", "a\nb", &"a".repeat(101)] {
            assert!(name(text).is_err(), "{text}");
        }
    }
}
