//! `bumpwright ui`: the browser's view of the cluster of a kubeconfig; and the settings of the controller's.

pub mod args;

use std::process::ExitCode;
use std::sync::Arc;

use http::HeaderName;
use tokio::runtime::Builder;

use crate::cli::cluster;
use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::explain;
use crate::cli::process::confined;
use args::{Ui, UiAuth, UiCommand};
use bumpwright_kube::{Cluster, EVENT, Scope};
use bumpwright_runtime::{ClusterEvent, Event, ListenAddress, Log, LogOptions, Server};
use bumpwright_ui::{Auth, ProxyAuth, Start, TagReader, UiSettings, Watches, serve};

#[must_use]
pub(super) fn run(args: &UiCommand) -> ExitCode {
    confined::files();
    confined::small_pages();
    console::end(try_run(args))
}

fn try_run(args: &UiCommand) -> Result<(), CliError> {
    let settings = UiSettings {
        address: address(&args.ui_addr)?,
        auth: Auth::None,
        actions: args.ui_actions,
        cluster: args.context.clone().unwrap_or_default(),
        advice: explain::advice,
    };
    if !settings.is_local() || settings.address == ListenAddress::Off {
        return Err(CliError::new(format!(
            "--ui-addr: {} is not an address of this machine alone, as in 127.0.0.1:9393",
            args.ui_addr
        ))
        .hint("to serve others: bumpwright controller --ui-addr"));
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .enable_all()
        .build();
    runtime.at("cannot start")?.block_on(look(args, settings))
}

async fn look(args: &UiCommand, settings: UiSettings) -> Result<(), CliError> {
    let cluster = cluster::connect(args.kubeconfig.clone(), args.context.clone()).await?;
    // One answer before anything is served: a wrong address or a login that is over is reported here.
    cluster.version().await?;
    let server = Server::bind(&settings.address, "pages", "--ui-addr").await;
    let server = server?.ok_or("--ui-addr is empty")?;
    let address = server.address()?;
    let log = Log::stderr(LogOptions::default()).at("cannot write a log")?;
    let start = Start {
        settings,
        watches: Watches::new(cluster.clone(), scopes(&args.namespace), Vec::new(), log.clone()),
        tags: TagReader::new(None),
        fields: None,
        differences: None,
        requests: None,
        announce: announce(cluster.clone(), log.clone()),
        cluster,
        log,
    };
    console::print(format!("http://{address}/\n").as_bytes()).map_err(console::cannot_print)?;
    tokio::select! {
        () = serve(start, server.into_listener()) => Ok(()),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// A watch for each of some namespaces, or one for all.
fn scopes(namespaces: &[String]) -> Vec<Scope> {
    let named = namespaces.iter().filter(|name| !name.is_empty());
    let mut scopes: Vec<Scope> = named
        .map(|name| Scope {
            namespace: Some(name.clone()),
            ..Scope::default()
        })
        .collect();
    if scopes.is_empty() {
        scopes.push(Scope::default());
    }
    scopes
}

/// Writes events as the person of the kubeconfig.
fn announce(cluster: Cluster, log: Log) -> Box<dyn Fn(Event) + Send + Sync> {
    let cluster = Arc::new(cluster);
    Box::new(move |event: Event| {
        let (cluster, log) = (Arc::clone(&cluster), log.clone());
        let namespace = event.object.namespace.clone();
        let written = ClusterEvent::new(&event).to_json();
        tokio::spawn(async move {
            if let Err(error) = cluster.create(&EVENT, &namespace, &written).await {
                log.error(&error, "the event of an action is not written");
            }
        });
    })
}

/// The settings of a controller; none without an address.
///
/// # Errors
/// A flag that is missing or not valid.
pub(super) fn settings(args: &Ui) -> Result<Option<UiSettings>, CliError> {
    let address = address(&args.ui_addr)?;
    if address == ListenAddress::Off {
        return Ok(None);
    }
    let mut settings = UiSettings {
        address,
        auth: Auth::None,
        actions: args.ui_actions,
        cluster: args.ui_cluster.clone(),
        advice: explain::advice,
    };
    let usual = if settings.is_local() {
        UiAuth::None
    } else {
        UiAuth::Token
    };
    settings.auth = match args.ui_auth.unwrap_or(usual) {
        UiAuth::Token => Auth::Token,
        UiAuth::Header => Auth::Header(proxy(args)?),
        UiAuth::None => Auth::None,
    };
    if settings.actions && matches!(settings.auth, Auth::None) {
        return Err(CliError::new(
            "--ui-actions needs --ui-auth=token or header: actions are made with the rights of a person",
        ));
    }
    Ok(Some(settings))
}

fn proxy(args: &Ui) -> Result<ProxyAuth, CliError> {
    let secret_file = args.ui_secret_file.clone();
    let header = |flag: &str, name: &str| match HeaderName::try_from(name) {
        Ok(name) => Ok(name.as_str().to_owned()),
        Err(_) => Err(CliError::new(format!("{flag}: {name:?} is not the name of a header"))),
    };
    let proxy = ProxyAuth {
        user: header("--ui-user-header", &args.ui_user_header)?,
        groups: header("--ui-groups-header", &args.ui_groups_header)?,
        user_prefix: args.ui_user_prefix.clone(),
        groups_prefix: args.ui_groups_prefix.clone(),
        secret: header("--ui-secret-header", &args.ui_secret_header)?,
        secret_file: secret_file.ok_or("--ui-auth=header needs --ui-secret-file, by which the proxy proves itself")?,
    };
    proxy.check()?;
    Ok(proxy)
}

fn address(text: &str) -> Result<ListenAddress, CliError> {
    text.parse::<ListenAddress>().at("--ui-addr")
}
