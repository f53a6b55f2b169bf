//! The flags of `get`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::cli::view::args::Places;

/// Arguments of `get`.
#[derive(Debug, Args)]
#[command(after_long_help = GET_HELP)]
pub struct Get {
    /// What to show
    #[arg(value_name = "WHAT", value_enum)]
    pub what: What,

    /// Only objects with these names; flux's two words are accepted, too: images all, images repository, sources git
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Where to look.
    #[command(flatten)]
    pub places: Places,

    /// imagerepositories of these manifests, of all namespaces, and no cluster: a file, a folder, or - for standard
    /// input
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR",
        conflicts_with_all = ["selector", "watch", "kubeconfig", "context", "all_namespaces"]
    )]
    pub filenames: Vec<PathBuf>,

    /// Only those with these labels, as in app=web,tier!=test
    #[arg(
        long,
        short = 'l',
        value_name = "LABELS",
        default_value = "",
        hide_default_value = true
    )]
    pub selector: String,

    /// The output format; without it a table
    #[arg(long, short = 'o', value_name = "FORMAT", value_enum)]
    pub output: Option<Output>,

    /// Continue with changed rows until interrupted
    #[arg(long, short = 'w')]
    pub watch: bool,

    /// No headings
    #[arg(long, alias = "no-headers")]
    pub no_header: bool,
}

/// What is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Image policies with their choice, and how far that is
    #[value(aliases = ["image", "policy", "policies", "imagepolicy", "imagepolicies", "imgpol"])]
    Images,
    /// Image repositories with their last scan
    #[value(name = "imagerepositories", aliases = ["imagerepository", "imgrepo", "imagerepo", "repositories", "repository"])]
    Repositories,
    /// Image update automations
    #[value(aliases = ["automation", "imageupdateautomation", "imageupdateautomations", "iua"])]
    Automations,
    /// Kustomizations
    #[value(aliases = ["kustomization", "ks"])]
    Kustomizations,
    /// HelmReleases with their charts
    #[value(name = "helmreleases", aliases = ["helmrelease", "hr"])]
    Releases,
    /// Sources: GitRepositories, OCIRepositories, Buckets, ExternalArtifacts, HelmRepositories, HelmCharts
    #[value(aliases = ["source"])]
    Sources,
    /// All of these
    All,
    /// Policies, repositories and automations: `images all` of flux
    #[value(skip)]
    ImageKinds,
}

impl What {
    /// Whether objects of one sort are among what is shown.
    pub(super) fn has(self, one: Self) -> bool {
        let is_image = matches!(one, Self::Images | Self::Repositories | Self::Automations);
        self == one || self == Self::All || (self == Self::ImageKinds && is_image)
    }

    /// Whether it is several sorts at once.
    pub(super) fn is_mixed(self) -> bool {
        matches!(self, Self::All | Self::ImageKinds)
    }
}

/// Formats of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// A table with more columns
    Wide,
    /// For programs
    Json,
    /// For programs
    Yaml,
    /// Kinds and names alone
    Name,
}

impl Get {
    /// What is shown, and of which kind alone, with names: flux has `images repository NAME` and `sources git
    /// NAME` for one kind of a sort.
    pub(super) fn asked(&self) -> Asked<'_> {
        let whole = Asked {
            what: self.what,
            kind: None,
            names: &self.names,
        };
        let Some((first, names)) = self.names.split_first() else {
            return whole;
        };
        let (what, kind) = match (self.what, first.as_str()) {
            (What::Images, "repository" | "repositories") => (What::Repositories, None),
            (What::Images, "policy" | "policies") => (What::Images, None),
            (What::Images, "update" | "updates") => (What::Automations, None),
            (What::Images, "all") => (What::ImageKinds, None),
            (What::Sources, "git") => (What::Sources, Some("GitRepository")),
            (What::Sources, "oci") => (What::Sources, Some("OCIRepository")),
            (What::Sources, "bucket") => (What::Sources, Some("Bucket")),
            (What::Sources, "helm") => (What::Sources, Some("HelmRepository")),
            (What::Sources, "chart") => (What::Sources, Some("HelmChart")),
            (What::Sources, "external") => (What::Sources, Some("ExternalArtifact")),
            (What::Sources, "all") => (What::Sources, None),
            _ => return whole,
        };
        Asked { what, kind, names }
    }
}

/// What is asked for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) what: What,
    /// The only kind of a sort that has several.
    pub(super) kind: Option<&'static str>,
    pub(super) names: &'a [String],
}

const GET_HELP: &str = "\
Examples:
  bumpwright get images
  bumpwright get kustomizations -A --watch
  # The repositories that are scanned for images; of files, without a cluster
  bumpwright get imagerepositories -f clusters/production
  # Everything that a team has, with more columns
  bumpwright get all -n team-a -o wide
  # The images that are behind
  bumpwright get images -A -o json \\
    | jq '.images[] | select(.stage == \"behind\")'

Exit codes:
  0  shown, also if there is nothing
  2  an error: one of the names is not there, or the cluster does not have the kind

Documentation: docs/guides/status.md";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: Get,
    }

    #[test]
    fn two_words_of_flux_are_one_sort() {
        let cases: [(&str, What, &[&str]); 10] = [
            ("images all", What::ImageKinds, &[]),
            ("image all web", What::ImageKinds, &["web"]),
            ("images policy web", What::Images, &["web"]),
            ("image policies", What::Images, &[]),
            ("image repository", What::Repositories, &[]),
            ("images repositories web", What::Repositories, &["web"]),
            ("images update", What::Automations, &[]),
            ("images web", What::Images, &["web"]),
            ("sources all", What::Sources, &[]),
            ("all web", What::All, &["web"]),
        ];
        for (typed, what, names) in cases {
            let words = ["get"].into_iter().chain(typed.split(' '));
            let args = Typed::try_parse_from(words).unwrap().args;
            let asked = args.asked();
            assert!(asked.what == what && asked.names == names, "{typed}");
        }
        assert!(Typed::try_parse_from(["get", "image-kinds"]).is_err());
    }
}
