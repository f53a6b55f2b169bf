//! The commands, in phases: those of a phase do not depend on each other.

use super::side::Shown;

/// A command.
pub struct Cell {
    /// Without the program's name. `{git}` and other words stand for the addresses of servers and for a folder.
    pub line: &'static str,
    /// Whether the order of its lines is up to chance, and how often one is there.
    pub is_a_set: bool,
}

/// What happens first, and then the commands.
pub struct Phase {
    pub before: fn(&Shown<'_>),
    pub cells: &'static [Cell],
    /// Whether the commands only look: then they can be run again.
    pub is_a_look: bool,
}

const fn cell(line: &'static str) -> Cell {
    Cell { line, is_a_set: false }
}

const fn set(line: &'static str) -> Cell {
    Cell { line, is_a_set: true }
}

const fn phase(before: fn(&Shown<'_>), cells: &'static [Cell]) -> Phase {
    Phase {
        before,
        cells,
        is_a_look: false,
    }
}

const fn look(cells: &'static [Cell]) -> Phase {
    Phase {
        before: nothing,
        cells,
        is_a_look: true,
    }
}

fn nothing(_: &Shown<'_>) {}

fn external(shown: &Shown<'_>) {
    shown.add_external();
}

/// A new revision of each source, and a new tag.
fn published(shown: &Shown<'_>) {
    shown.publish("2");
    shown.world.publish("app", "1.1.0");
}

const CREATE_SOURCES: &[Cell] = &[
    cell("create source git app --url={git} --branch=main --interval=1h"),
    cell("create source git lost --url={lost} --branch=main --interval=1h --timeout=3s"),
    cell("create source oci app --url={oci}/maps --tag=latest --insecure --interval=1h"),
    cell("create source oci lost --url={oci}/lost --tag=latest --insecure --interval=1h --timeout=3s"),
    cell(
        "create source bucket app --bucket-name=maps --endpoint={s3} --insecure=true --access-key=a --secret-key=b --interval=1h",
    ),
    cell(
        "create source bucket lost --bucket-name=lost --endpoint={s3} --insecure=true --access-key=a --secret-key=b --interval=1h --timeout=3s",
    ),
    cell("create image repository app --image={image} --interval=1h"),
    cell("create image repository lost --image={image}/lost --interval=1h --timeout=3s"),
];

const CREATE_USERS: &[Cell] = &[
    cell(
        "create kustomization app --source=GitRepository/app --path=./deploy --prune=true --interval=1h --target-namespace=apps",
    ),
    cell(
        "create kustomization oci --source=OCIRepository/app --path=./ --prune=true --interval=1h --target-namespace=apps --wait",
    ),
    cell("create kustomization lost --source=GitRepository/app --path=./lost --prune=true --interval=1h --timeout=3s"),
    cell("create image policy app --image-ref=app --select-semver=*"),
    cell("create image policy lost --image-ref=app --select-semver=>=9 --timeout=3s"),
];

const CREATE_AUTOMATIONS: &[Cell] = &[
    cell(
        "create kustomization bucket --source=Bucket/app --path=./ --prune=true --interval=1h --target-namespace=apps --depends-on=app",
    ),
    cell(
        "create image update app --git-repo-ref=app --git-repo-path=./ --checkout-branch=main --author-name=bot --author-email=bot@example.com --interval=1h",
    ),
    cell(
        "create image update lost --git-repo-ref=none --git-repo-path=./ --checkout-branch=main --author-name=bot --author-email=bot@example.com --interval=1h --timeout=3s",
    ),
    cell(
        "create kustomization refused --source=ExternalArtifact/app --path=./external --prune=true --interval=1h --target-namespace=apps",
    ),
    cell("create source git app --url={git} --branch=main --interval=1h --label=team=blue"),
];

const GET: &[Cell] = &[
    cell("get sources git"),
    cell("get sources git app"),
    cell("get sources git none"),
    cell("get sources git --status-selector=ready=false --no-header"),
    cell("get sources git -A"),
    cell("get sources oci"),
    cell("get sources oci app"),
    cell("get sources oci none"),
    cell("get sources oci --status-selector=ready=false --no-header"),
    cell("get sources oci -A"),
    cell("get sources bucket"),
    cell("get sources bucket app"),
    cell("get sources bucket none"),
    cell("get sources bucket --status-selector=ready=false --no-header"),
    cell("get sources bucket -A"),
    cell("get kustomizations"),
    cell("get kustomizations app"),
    cell("get kustomizations none"),
    cell("get kustomizations --status-selector=ready=false --no-header"),
    cell("get kustomizations -A"),
    cell("get images repository"),
    cell("get images repository app"),
    cell("get images repository none"),
    cell("get images repository --status-selector=ready=false --no-header"),
    cell("get images repository -A"),
    cell("get images policy"),
    cell("get images policy app"),
    cell("get images policy none"),
    cell("get images policy --status-selector=ready=false --no-header"),
    cell("get images policy -A"),
    cell("get images update"),
    cell("get images update app"),
    cell("get images update none"),
    cell("get images update --status-selector=ready=false --no-header"),
    cell("get images update -A"),
    cell("get sources external"),
    cell("get sources external app"),
    cell("get sources all"),
    cell("get images all"),
    cell("get all"),
    cell("get all -A"),
    cell("get all --status-selector=ready=false"),
    cell("get sources git -l team=blue"),
    cell("get kustomizations --show-source"),
];

const EXPORT: &[Cell] = &[
    cell("export source git app"),
    cell("export source git --all"),
    cell("export source git none"),
    cell("export source oci app"),
    cell("export source oci --all"),
    cell("export source oci none"),
    cell("export source bucket app"),
    cell("export source bucket --all"),
    cell("export source bucket none"),
    cell("export kustomization app"),
    cell("export kustomization --all"),
    cell("export kustomization none"),
    cell("export image repository app"),
    cell("export image repository --all"),
    cell("export image repository none"),
    cell("export image policy app"),
    cell("export image policy --all"),
    cell("export image policy none"),
    cell("export image update app"),
    cell("export image update --all"),
    cell("export image update none"),
    cell("export source external app"),
    cell("export source external --all"),
    cell("export source bucket app --with-credentials"),
];

const LOOK: &[Cell] = &[
    cell("tree kustomization app"),
    cell("tree kustomization oci"),
    cell("tree kustomization bucket"),
    cell("tree kustomization external"),
    cell("tree kustomization lost"),
    cell("tree kustomization app --compact"),
    cell("tree kustomization app --output=json"),
    cell("tree kustomization app --output=yaml"),
    cell("tree kustomization none"),
    cell("trace configmap git"),
    cell("trace configmap oci"),
    cell("trace configmap bucket"),
    cell("trace configmap external"),
    cell("trace serviceaccount/git"),
    cell("trace git --kind=ConfigMap --api-version=v1"),
    cell("trace configmap none"),
    cell("trace configmap kube-root-ca.crt"),
    cell("debug kustomization app --show-status"),
    cell("debug kustomization app --show-history"),
    cell("debug kustomization oci --show-status"),
    cell("debug kustomization oci --show-history"),
    cell("debug kustomization lost --show-status"),
    cell("debug kustomization lost --show-history"),
    cell("debug kustomization app --show-vars"),
    set("events --for=GitRepository/app"),
    set("events --for=GitRepository"),
    set("events --for=OCIRepository/app"),
    set("events --for=OCIRepository"),
    set("events --for=Bucket/app"),
    set("events --for=Bucket"),
    set("events --for=Kustomization/app"),
    set("events --for=Kustomization"),
    set("events --for=ImageRepository/app"),
    set("events --for=ImageRepository"),
    set("events --for=ImagePolicy/app"),
    set("events --for=ImagePolicy"),
    set("events --for=ImageUpdateAutomation/app"),
    set("events --for=ImageUpdateAutomation"),
    set("events --for=Kustomization/lost"),
    set("events --for=ImagePolicy/lost"),
    set("events"),
    set("events -A"),
    set("events --types=Warning"),
    set("events --types=Normal"),
    cell("events --for=ExternalArtifact/app"),
    cell("stats"),
    cell("stats -A"),
    cell("diff kustomization app --path={folder}/same --progress-bar=false"),
    cell("diff kustomization app --path={folder}/other --progress-bar=false"),
    cell("diff kustomization none --path={folder}/same --progress-bar=false"),
    cell("build kustomization app --path={folder}/built"),
    cell("build kustomization none --path={folder}/built"),
];

const RECONCILE_SOURCES: &[Cell] = &[
    cell("reconcile source git app"),
    cell("reconcile source oci app"),
    cell("reconcile source bucket app"),
    cell("reconcile image repository app"),
    cell("reconcile source git lost --timeout=3s"),
    cell("reconcile source oci lost --timeout=3s"),
    cell("reconcile source bucket lost --timeout=3s"),
    cell("reconcile image repository lost --timeout=3s"),
    cell("reconcile source git none"),
    cell("reconcile source oci none"),
    cell("reconcile source bucket none"),
    cell("reconcile kustomization none"),
    cell("reconcile image repository none"),
    cell("reconcile image policy none"),
    cell("reconcile image update none"),
];

const RECONCILE_USERS: &[Cell] = &[
    cell("reconcile kustomization app"),
    cell("reconcile kustomization oci --with-source"),
    cell("reconcile kustomization bucket --with-source"),
    cell("reconcile kustomization external --with-source"),
    cell("reconcile kustomization lost --timeout=3s"),
    cell("reconcile image policy app"),
    cell("reconcile image policy lost --timeout=3s"),
];

const RECONCILE_AUTOMATIONS: &[Cell] = &[
    cell("reconcile image update app"),
    cell("reconcile image update lost --timeout=3s"),
];

const SUSPEND: &[Cell] = &[
    cell("suspend source git app"),
    cell("suspend source oci app"),
    cell("suspend source bucket app"),
    cell("suspend kustomization app"),
    cell("suspend image repository app"),
    cell("suspend image policy app"),
    cell("suspend image update app"),
    cell("suspend source git none"),
    cell("suspend source oci none"),
    cell("suspend source bucket none"),
    cell("suspend kustomization none"),
    cell("suspend image repository none"),
    cell("suspend image policy none"),
    cell("suspend image update none"),
];

const SUSPENDED: &[Cell] = &[
    cell("get sources git app"),
    cell("get sources oci app"),
    cell("get sources bucket app"),
    cell("get kustomizations app"),
    cell("get images repository app"),
    cell("get images policy app"),
    cell("get images update app"),
    cell("reconcile source git app"),
    cell("reconcile source oci app"),
    cell("reconcile source bucket app"),
    cell("reconcile kustomization app"),
    cell("reconcile image repository app"),
    cell("reconcile image policy app"),
    cell("reconcile image update app"),
    cell("reconcile kustomization oci --with-source"),
    cell("stats"),
];

const RESUME_SOURCES: &[Cell] = &[
    cell("resume source git app"),
    cell("resume source oci app"),
    cell("resume source bucket app"),
    cell("resume image repository app"),
];

const RESUME_USERS: &[Cell] = &[
    cell("resume kustomization app"),
    cell("resume image policy app"),
    cell("resume image update app"),
    cell("resume source git none"),
    cell("resume source oci none"),
    cell("resume source bucket none"),
    cell("resume kustomization none"),
    cell("resume image repository none"),
    cell("resume image policy none"),
    cell("resume image update none"),
];

const SEVERAL: &[Cell] = &[
    cell("suspend source git app lost none"),
    cell("suspend kustomization app oci"),
    cell("suspend image repository app lost"),
];

const SEVERAL_RESUMED: &[Cell] = &[
    cell("reconcile kustomization bucket --with-source"),
    set("resume source git app lost none"),
    set("resume kustomization app oci"),
    set("resume image repository app lost"),
];

const SUSPEND_ALL: &[Cell] = &[
    cell("suspend source git --all"),
    cell("suspend source oci --all"),
    cell("suspend source bucket --all"),
    cell("suspend kustomization --all"),
    cell("suspend image repository --all"),
    cell("suspend image policy --all"),
    cell("suspend image update --all"),
];

const RESUME_ALL: &[Cell] = &[
    set("resume source git --all"),
    set("resume source oci --all"),
    set("resume source bucket --all"),
    set("resume kustomization --all"),
    set("resume image repository --all"),
    set("resume image policy --all"),
    set("resume image update --all"),
];

const LOGS: &[Cell] = &[
    set("logs"),
    set("logs -A"),
    set("logs --level=error"),
    set("logs --kind=GitRepository --name=app"),
    set("logs --kind=OCIRepository --name=app"),
    set("logs --kind=Bucket --name=app"),
    set("logs --kind=Kustomization --name=app"),
    set("logs --kind=ImageRepository --name=app"),
    set("logs --kind=ImagePolicy --name=app"),
    set("logs --kind=ImageUpdateAutomation --name=app"),
    set("logs --kind=Kustomization --name=lost --level=error"),
];

const DELETE_USERS: &[Cell] = &[
    cell("delete kustomization app --silent"),
    cell("delete image policy app --silent"),
    cell("delete image update app --silent"),
    cell("delete kustomization none --silent"),
];

const DELETE_SOURCES: &[Cell] = &[
    cell("delete source git app --silent"),
    cell("delete source oci app --silent"),
    cell("delete source bucket app --silent"),
    cell("delete image repository app --silent"),
    cell("delete source git none --silent"),
];

const DELETED: &[Cell] = &[
    cell("get sources git app"),
    cell("get sources oci app"),
    cell("get sources bucket app"),
    cell("get kustomizations app"),
    cell("get images repository app"),
    cell("get images policy app"),
    cell("get images update app"),
    cell("trace configmap git"),
    cell("tree kustomization bucket"),
];

/// All of them.
pub const PHASES: &[Phase] = &[
    phase(nothing, CREATE_SOURCES),
    phase(nothing, CREATE_USERS),
    phase(external, CREATE_AUTOMATIONS),
    look(GET),
    look(EXPORT),
    look(LOOK),
    phase(published, RECONCILE_SOURCES),
    phase(nothing, RECONCILE_USERS),
    phase(nothing, RECONCILE_AUTOMATIONS),
    look(GET),
    phase(nothing, SUSPEND),
    phase(nothing, SUSPENDED),
    phase(nothing, RESUME_SOURCES),
    phase(nothing, RESUME_USERS),
    phase(nothing, SEVERAL),
    phase(nothing, SEVERAL_RESUMED),
    phase(nothing, SUSPEND_ALL),
    phase(nothing, RESUME_ALL),
    look(LOGS),
    phase(nothing, DELETE_USERS),
    phase(nothing, DELETE_SOURCES),
    look(DELETED),
];
