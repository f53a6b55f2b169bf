//! `bumpwright reconcile`: asks a controller to reconcile an object now, and waits for the outcome.

pub mod args;
pub(super) mod object;
pub(super) mod waiting;

use std::process::ExitCode;

use crate::cli::console::{end_with, say};
use crate::cli::error::CliError;
use crate::cli::suspend::is_suspended;
use crate::cli::view::{at_within, kinds};
use args::Reconcile;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, EXTERNAL_ARTIFACT, HELM_RELEASE, IMAGE_POLICY, Kind};
use object::Target;

/// The annotations for a release that is installed or upgraded without a change, and for one whose failures are
/// forgotten. They have the value of the request.
const FORCE_AT: &str = "reconcile.fluxcd.io/forceAt";
const RESET_AT: &str = "reconcile.fluxcd.io/resetAt";

#[must_use]
pub(super) fn run(args: &Reconcile) -> ExitCode {
    let limit = args.timeout.as_std();
    end_with(at_within(limit, &args.place, async |cluster| {
        reconcile(args, &cluster).await
    }))
}

async fn reconcile(args: &Reconcile, cluster: &Cluster) -> Result<u8, CliError> {
    let typed = kinds::typed(&args.words)?;
    let [(kind, name)] = typed.objects.as_slice() else {
        return Err(CliError::new("give one object: KIND NAME, or KIND/NAME"));
    };
    let target = Target::find(cluster, kind, ObjectName::new(&args.place.namespace, name)).await?;
    checked(&target)?;
    let also = also(args, kind)?;
    if args.with_source {
        for source in sources(cluster, &target).await? {
            let code = one(cluster, &source, &[], args).await?;
            if code != 0 {
                return Ok(code);
            }
        }
    }
    let code = one(cluster, &target, &also, args).await?;
    if kind.is(&IMAGE_POLICY) && !args.with_source {
        let ObjectName { namespace, name } = &target.name;
        let scan = format!("bumpwright reconcile policy {name} -n {namespace} --with-source");
        say(
            "note",
            &format!("the tags are those of the last scan; scan first with: {scan}"),
        );
    }
    Ok(code)
}

/// The annotations of helm-controller that are asked for.
fn also(args: &Reconcile, kind: &Kind) -> Result<Vec<&'static str>, CliError> {
    let flags = [(args.force, "--force", FORCE_AT), (args.reset, "--reset", RESET_AT)];
    let given = flags.into_iter().filter(|(is_asked, ..)| *is_asked);
    let given = given.map(|(_, flag, annotation)| {
        if kind.is(&HELM_RELEASE) {
            Ok(annotation)
        } else {
            Err(CliError::new(format!(
                "{flag} is for HelmReleases, not for a {}",
                kind.kind
            )))
        }
    });
    given.collect()
}

/// What it is made of, the first to reconcile first: of a chart its repository, too.
async fn sources(cluster: &Cluster, target: &Target) -> Result<Vec<Target>, CliError> {
    let none = || CliError::new(format!("--with-source: a {} has no source", target.resource.gvk.kind));
    let (mut next, mut found) = (Some(target.source().ok_or_else(none)?), Vec::new());
    while let Some((kind, name)) = next.take() {
        let source = Target::find(cluster, kind, name).await?;
        if source.is_static() {
            break;
        }
        checked(&source)?;
        next = source.source();
        found.push(source);
    }
    found.reverse();
    Ok(found)
}

async fn one(cluster: &Cluster, target: &Target, also: &[&str], args: &Reconcile) -> Result<u8, CliError> {
    let request = waiting::request(cluster, target, also).await?;
    waiting::until_ready(cluster, target, Some(&request), args.timeout.as_std()).await
}

/// Whether it can be reconciled.
fn checked(target: &Target) -> Result<(), CliError> {
    if target.is_static() {
        let text = format!("{target} cannot be reconciled: it is of the type oci, which is read with each chart");
        return Err(CliError::new(text));
    }
    if target.resource.gvk.kind == EXTERNAL_ARTIFACT.kind {
        let text = format!("{target} cannot be reconciled: another controller makes it");
        return Err(CliError::new(text));
    }
    if is_suspended(&target.object) {
        let command = format!(
            "bumpwright resume {} {}",
            kinds::word(&target.resource.gvk.kind),
            target.name.name
        );
        let text = format!("{target} is suspended: `{command} -n {}`", target.name.namespace);
        Err(CliError::new(text))
    } else {
        Ok(())
    }
}
