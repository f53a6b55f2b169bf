//! The flags of `migrate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Arguments of `migrate`.
#[derive(Debug, Args)]
#[command(after_long_help = MIGRATE_HELP)]
pub struct Migrate {
    /// Manifests; folders are searched for YAML and JSON files
    #[arg(value_name = "FILE|DIR", default_value = ".")]
    pub paths: Vec<PathBuf>,

    /// Write the files [default: print the changes as a unified diff]
    #[arg(long)]
    pub write: bool,

    /// Make policies, automations and markers from the settings of another program [default: rewrite older API
    /// versions]
    #[arg(long, value_name = "PROGRAM")]
    pub from: Option<Program>,

    /// With --from: the file for the new objects; - is standard output
    #[arg(long, value_name = "FILE", default_value = "image-updates.yaml", requires = "from")]
    pub manifests: PathBuf,

    /// With --from: the namespace of the new objects [default: the Application's, else
    /// argocd; flux-system with flux-v1]
    #[arg(long, value_name = "NS", requires = "from")]
    pub namespace: Option<String>,
}

/// A program whose settings become policies and markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// Annotations of Argo CD Applications, and `ImageUpdater` objects
    ArgocdImageUpdater,
    /// Annotations of workloads and HelmReleases
    FluxV1,
    /// `renovate.json` and the like, and comments above fields
    Renovate,
}

const MIGRATE_HELP: &str = "\
Kinds: ImageRepository, ImagePolicy, ImageUpdateAutomation, GitRepository, OCIRepository, Bucket, HelmRepository, HelmChart, \
Kustomization. Objects with a field that v1 does not have stay as they are, and are reported with the reason.

With --from, fields that the other program writes get markers, its annotations go, and the new objects are a file. What Flux's kinds \
cannot express is reported with the reason; the annotations of such an object stay.

Examples:
  # Show the changes
  bumpwright migrate clusters/production
  # Make them
  bumpwright migrate --write clusters/production
  # Applications of Argo CD that argocd-image-updater looks after, in a clone of their repository
  bumpwright migrate --from argocd-image-updater
  # Images, charts and comments that Renovate looks after, and its packageRules
  bumpwright migrate --from renovate
  # Workloads with annotations of Flux v1
  bumpwright migrate --from flux-v1 --write

Exit codes:
  0  done, or nothing to do
  2  an error, or something that could not be migrated; the rest was done

Documentation: docs/behaviour/migration.md, docs/guides/moving-from-argocd-image-updater.md, docs/guides/moving-from-flux-v1.md, docs/guides/beside-renovate.md";
