//! Flux's controllers of the same kinds. Leases keep two processes from an object within a namespace only, and beside
//! Flux an installation has other manifests.

use super::args::Install;
use super::components::Components;
use crate::cli::console;
use crate::cli::error::CliError;
use crate::cli::installed::{self, Controller};
use crate::cli::words;
use bumpwright_kube::Cluster;

/// The page that says how to get from one to the other.
const PAGE: &str = "docs/guides/moving-from-flux.md";

/// Refuses an installation that would act on the objects of Flux's controllers, or for which Flux is not there.
///
/// # Errors
/// Such a controller runs. Nothing is applied then.
pub(super) async fn check(cluster: &Cluster, components: Components, args: &Install) -> Result<(), CliError> {
    match installed::controllers(cluster).await {
        Ok(controllers) => refused(&controllers, components, args).map_or(Ok(()), Err),
        Err(error) => {
            let text = format!("whether Flux's controllers reconcile the same kinds is not known: {error}");
            console::say("note", &text);
            Ok(())
        }
    }
}

fn refused(controllers: &[Controller], components: Components, args: &Install) -> Option<CliError> {
    let rivals = controllers.iter().filter(|one| is_rival(one, components, args));
    let (beside, elsewhere): (Vec<&Controller>, Vec<&Controller>) =
        rivals.partition(|one| one.namespace == args.namespace);
    if let Some(first) = elsewhere.first() {
        let there: Vec<&Controller> = elsewhere
            .iter()
            .copied()
            .filter(|one| one.namespace == first.namespace)
            .collect();
        let hint = format!(
            "install with -n {} --beside-flux, or scale {} down first ({PAGE})",
            first.namespace,
            pronoun(&there)
        );
        let what = format!(
            "{}, and leases count within a namespace only: both would act on the same objects",
            run(&there)
        );
        return Some(CliError::new(what).at("nothing is applied").hint(hint));
    }
    if args.beside_flux || beside.is_empty() {
        return None;
    }
    let hint = format!("add --beside-flux, or scale {} down first ({PAGE})", pronoun(&beside));
    let what = format!("{}, for the same kinds", run(&beside));
    Some(CliError::new(what).at("nothing is applied").hint(hint))
}

/// Whether a controller of Flux runs, and reconciles objects that this installation would.
fn is_rival(other: &Controller, components: Components, args: &Install) -> bool {
    let serves = |name: &&str| other.serves_kinds_of(name);
    let scope = other.scope();
    let shares_namespaces = args.watch_all_namespaces || scope.is_empty() || scope == args.namespace;
    !other.is_ours() && shares_namespaces && components.controllers().iter().any(serves)
}

/// `Flux's source-controller runs in the namespace flux-system`, of controllers of one namespace.
fn run(controllers: &[&Controller]) -> String {
    let names: Vec<String> = controllers.iter().map(|one| one.name.clone()).collect();
    let namespace = controllers.first().map_or("", |one| &one.namespace);
    let verb = if names.len() == 1 { "runs" } else { "run" };
    format!("Flux's {} {verb} in the namespace {namespace}", words::some(&names))
}

fn pronoun(controllers: &[&Controller]) -> &'static str {
    if controllers.len() == 1 { "it" } else { "them" }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_kube::DEPLOYMENT;
    use clap::Parser;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        args: Install,
    }

    fn controller(namespace: &str, name: &str, arguments: &[&str]) -> Controller {
        Controller {
            kind: &DEPLOYMENT,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            replicas: 1,
            image: "x:v1".to_owned(),
            arguments: arguments.iter().map(|one| (*one).to_owned()).collect(),
        }
    }

    #[test]
    fn flux_beside_an_installation_has_to_be_named() {
        let reflector = controller("flux-system", "image-reflector-controller", &[]);
        let automation = controller("flux-system", "image-automation-controller", &[]);
        let sources = controller("flux-system", "source-controller", &[]);
        let stopped = Controller {
            replicas: 0,
            ..reflector.clone()
        };
        let own = controller("flux-system", "team-controller", &[]);
        let apart = controller(
            "gitops",
            "image-automation-controller",
            &["--watch-all-namespaces=false"],
        );
        let both = [reflector.clone(), automation, sources];
        let flagged = "nothing is applied: Flux's image-reflector-controller, image-automation-controller run in the namespace \
                       flux-system, for the same kinds; add --beside-flux, or scale them down first (docs/guides/moving-from-flux.md)";
        let elsewhere = "nothing is applied: Flux's image-reflector-controller runs in the namespace flux-system, and leases count \
                         within a namespace only: both would act on the same objects; install with -n flux-system --beside-flux, or \
                         scale it down first (docs/guides/moving-from-flux.md)";
        let in_gitops = "nothing is applied: Flux's image-automation-controller runs in the namespace gitops, and leases count within a \
                         namespace only: both would act on the same objects; install with -n gitops --beside-flux, or scale it down \
                         first (docs/guides/moving-from-flux.md)";
        let cases: [(&[Controller], &[&str], Option<&str>); 7] = [
            (&both, &[], Some(flagged)),
            (&both, &["--beside-flux"], None),
            (&both, &["--components=kustomize"], None),
            (&[reflector], &["-n", "tools", "--beside-flux"], Some(elsewhere)),
            (&[stopped, own], &[], None),
            (std::slice::from_ref(&apart), &["--watch-all-namespaces=false"], None),
            (std::slice::from_ref(&apart), &[], Some(in_gitops)),
        ];
        for (controllers, flags, expected) in cases {
            let typed = Typed::try_parse_from([&["install"], flags].concat()).unwrap();
            let components = Components::named(&typed.args.components).unwrap();
            let error = refused(controllers, components, &typed.args).map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected, "{flags:?}");
        }
    }
}
