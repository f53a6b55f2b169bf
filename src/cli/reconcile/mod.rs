//! `bumpwright reconcile`: asks a controller to reconcile an object now, and waits for the outcome.

pub mod args;
pub(super) mod object;
pub(super) mod waiting;

use std::process::ExitCode;

use crate::cli::suspend::is_suspended;
use crate::cli::view::{ViewError, at, end, kinds};
use args::Reconcile;
use bumpwright_api::ObjectName;
use bumpwright_kube::{Cluster, EXTERNAL_ARTIFACT};
use object::Target;

/// Runs the command.
#[must_use]
pub(super) fn run(args: &Reconcile) -> ExitCode {
    end(at(&args.place, async |cluster| reconcile(args, &cluster).await))
}

async fn reconcile(args: &Reconcile, cluster: &Cluster) -> Result<u8, ViewError> {
    let typed = kinds::typed(&args.words)?;
    let [(kind, name)] = typed.objects.as_slice() else {
        return Err(ViewError::Typed("give one object: KIND NAME, or KIND/NAME".to_owned()));
    };
    let target = Target::find(cluster, kind, ObjectName::new(&args.place.namespace, name)).await?;
    checked(&target)?;
    if args.with_source {
        let source = target
            .source()
            .ok_or_else(|| ViewError::Typed(format!("--with-source: a {} has no source", kind.kind)))?;
        let source = Target::find(cluster, source.0, source.1).await?;
        checked(&source)?;
        let code = one(cluster, &source, args).await?;
        if code != 0 {
            return Ok(code);
        }
    }
    one(cluster, &target, args).await
}

async fn one(cluster: &Cluster, target: &Target, args: &Reconcile) -> Result<u8, ViewError> {
    let request = waiting::request(cluster, target).await?;
    waiting::until_ready(cluster, target, Some(&request), args.timeout.as_std()).await
}

/// Whether it can be reconciled.
fn checked(target: &Target) -> Result<(), ViewError> {
    if target.resource.gvk.kind == EXTERNAL_ARTIFACT.kind {
        let text = format!("{target} cannot be reconciled: another controller makes it");
        return Err(ViewError::Refused(text));
    }
    match is_suspended(&target.object) {
        true => {
            let command = format!(
                "bumpwright resume {} {}",
                kinds::word(&target.resource.gvk.kind),
                target.name.name
            );
            let text = format!("{target} is suspended: `{command} -n {}`", target.name.namespace);
            Err(ViewError::Refused(text))
        }
        false => Ok(()),
    }
}
