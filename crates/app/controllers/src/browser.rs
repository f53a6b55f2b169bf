//! The browser's view of this process: its own caches are lent to it, and whatever else it needs is
//! watched while somebody looks.

use std::sync::Arc;

use tokio::task::JoinSet;

use super::images::differences::differences;
use super::start_error::StartError;
use crate::parts::Parts;
use bumpwright_kube::{Cluster, Connect, Pace, Scope};
use bumpwright_runtime::{Log, Recorder, Server};
use bumpwright_ui::{Auth, Fields, RequestReader, Start, TagReader, UiSettings, Watches, serve};

/// Requests for pages: a person's rights may take hundreds of questions. They wait for each other, never
/// for those of reconciliations.
const PACE: Pace = Pace {
    per_second: 100.0,
    burst: 200,
    always: true,
};

/// Serves pages, if that is enabled. Every replica does.
pub(super) async fn browser(
    parts: &Parts,
    connect: &Connect,
    recorder: &Recorder,
    background: &mut JoinSet<()>,
) -> Result<(), StartError> {
    let context = &parts.shared;
    let Some(settings) = context.settings.ui.clone() else {
        return Ok(());
    };
    let log = context.log.named("ui");
    warn(&settings, &log);
    let bound = Server::bind(&settings.address, "pages", "--ui-addr").await;
    let Some(server) = bound.map_err(|error| StartError::Listen(error.to_string()))? else {
        return Ok(());
    };
    let connect = Connect {
        pace: Some(PACE),
        ..connect.clone()
    };
    let cluster = Cluster::connect(&connect, super::request_metrics::of_cluster(&context.metrics)).await?;
    // With `--watch-label-selector` the objects of other processes are shown, too.
    let scope = Scope {
        namespace: context.settings.scope.namespace.clone(),
        ..Scope::default()
    };
    let watches = Watches::new(cluster.clone(), vec![scope], parts.caches.complete(), log.clone());
    let recorder = recorder.clone();
    let start = Start {
        settings,
        cluster,
        watches,
        tags: TagReader::new(Some((Arc::clone(&parts.tags), Arc::clone(&parts.scanner)))),
        fields: parts
            .fields
            .clone()
            .map(|fields| -> Fields { Box::new(move || fields.by_policy()) }),
        differences: Some(differences(Arc::clone(&parts.mirrors))),
        requests: parts
            .requests
            .clone()
            .map(|book| -> RequestReader { Box::new(move || book.requests()) }),
        announce: Box::new(move |event| recorder.record(event)),
        log,
    };
    background.spawn(serve(start, server.into_listener()));
    Ok(())
}

fn warn(settings: &UiSettings, log: &Log) {
    if matches!(settings.auth, Auth::None) && !settings.is_local() {
        log.info(&format!(
            "--ui-auth=none: everybody who can connect to {} sees what this process may see of all namespaces",
            settings.address
        ));
    }
}
