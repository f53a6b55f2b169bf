//! The HTTP server of pages: what it is made of, who asks, and what that person sees.

use std::sync::Arc;

use bumpwright_http_server::{self as http_server, Body, Limits};
use bumpwright_kube::Cluster;
use bumpwright_pages::{Route, SCRIPT, STYLE, script_path, style_path};
use bumpwright_runtime::{Event, Log};
use bytes::Bytes;
use http::header::ALLOW;
use http::{Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::auth::{Csrf, Gate, Person};
use super::call::Call;
use super::live;
use super::reply;
use super::rights::{Rights, Sight};
use super::settings::UiSettings;
use super::shares::Shares;
use super::snapshot::{Fields, IDLE, Own, Snapshots};
use super::view::{View, Views, places};
use super::watches::Watches;
use crate::page::health::Healths;
use crate::page::history::Differences;
use crate::page::requests::RequestReader;
use crate::page::tags::TagReader;

/// The most requests at once, and those of one person; streams have bounds of their own.
const REQUESTS: usize = 64;
const OF_ONE: usize = 12;

/// Pages that are made at once: reconciliations have the same processors.
const AT_ONCE: usize = 2;

/// The largest body of a request: a form with a token.
const BODY: usize = 16 << 10;

/// The most connections: each stream has one.
const CONNECTIONS: usize = 256;

/// What is called for each event.
type Announce = Box<dyn Fn(Event) + Send + Sync>;

/// What the server is made of.
pub struct Start {
    /// How people are known, and what they may do.
    pub settings: UiSettings,
    /// With connections and a rate of its own.
    pub cluster: Cluster,
    /// The kinds that are shown.
    pub watches: Watches,
    /// The tags that were scanned, for the pages of policies.
    pub tags: TagReader,
    /// Marked fields, where this process knows any.
    pub fields: Option<Fields>,
    /// Differences of commits, where this process has mirrors of repositories.
    pub differences: Option<Differences>,
    /// Pull requests, where this process reviews any.
    pub requests: Option<RequestReader>,
    /// Called for each event of an action.
    pub announce: Announce,
    /// Where each action is recorded.
    pub log: Log,
}

pub(super) struct Ui {
    pub(super) settings: UiSettings,
    pub(super) cluster: Cluster,
    pub(super) gate: Gate,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) streams: Shares,
    pub(super) announce: Announce,
    pub(super) log: Log,
    pub(super) watches: Arc<Watches>,
    pub(super) rights: Arc<Rights>,
    pub(super) healths: Arc<Healths>,
    views: Arc<Views>,
    pub(super) tags: TagReader,
    pub(super) differences: Option<Differences>,
    pub(super) csrf: Csrf,
    pub(super) requests: Shares,
    pub(super) turns: Semaphore,
}

/// Serves pages until the process ends. Returns at once when the system has no random bytes.
pub async fn serve(start: Start, listener: TcpListener) {
    let limits = Limits {
        connections: CONNECTIONS,
        body_size: BODY,
        // Browsers do not; and a page that is left leaves a stream.
        half_close: false,
        ..Limits::default()
    };
    let log = start.log.clone();
    let Some(ui) = Ui::new(start).map(Arc::new) else {
        log.error(&"the system has no random bytes", "the browser's view is not served");
        return;
    };
    let handler = move |request: Request<Bytes>| {
        let ui = Arc::clone(&ui);
        async move { ui.answer(Call::read(request)).await }
    };
    http_server::serve(listener, limits, handler, std::future::pending()).await;
}

impl Ui {
    fn new(start: Start) -> Option<Self> {
        let Start {
            settings,
            cluster,
            watches,
            tags,
            fields,
            differences,
            requests,
            announce,
            log,
        } = start;
        let (watches, rights) = (Arc::new(watches), Arc::new(Rights::new(cluster.clone())));
        let healths = Arc::new(Healths::new(cluster.clone(), Arc::clone(&rights)));
        let views = Arc::new(Views::default());
        let own = Own { fields, requests };
        let forgotten = {
            let (rights, views, healths) = (Arc::clone(&rights), Arc::clone(&views), Arc::clone(&healths));
            move || {
                healths.forget();
                rights.forget();
                views.forget();
            }
        };
        Some(Self {
            gate: Gate::new(&settings.auth, &cluster),
            snapshots: Snapshots::new(Arc::clone(&watches), own, cluster.clone(), IDLE, forgotten),
            streams: Shares::new(live::STREAMS, live::OF_ONE),
            requests: Shares::new(REQUESTS, OF_ONE),
            turns: Semaphore::new(AT_ONCE),
            csrf: Csrf::new()?,
            settings,
            cluster,
            announce,
            log,
            watches,
            rights,
            healths,
            views,
            tags,
            differences,
        })
    }

    async fn answer(self: Arc<Self>, call: Call) -> Response<Body> {
        if self.settings.is_local() && !call.is_to_this_machine() {
            let text = "this address is served to this machine alone: use localhost in its place";
            return reply::text(StatusCode::MISDIRECTED_REQUEST, text);
        }
        let Some(route) = call.route.clone() else {
            return self
                .wrong(&call, None, StatusCode::NOT_FOUND, "There is no such page.")
                .await;
        };
        match route {
            Route::Style if call.is_read() => reply::asset(&call, "text/css; charset=utf-8", STYLE, style_path()),
            Route::Script if call.is_read() => {
                reply::asset(&call, "text/javascript; charset=utf-8", SCRIPT, script_path())
            }
            Route::SignIn => self.sign_in(call).await,
            Route::SignOut | Route::Act if !call.is_post() => not_allowed("POST"),
            Route::SignOut | Route::Act => self.form(call, route).await,
            _ if !call.is_read() => not_allowed("GET, HEAD"),
            _ => match self.gate.person(&call.headers).await {
                Ok(person) if route == Route::Events => live::stream(&self, &call, person),
                Ok(person) => self.page(call, person).await,
                Err(unknown) => self.stranger(&call, unknown).await,
            },
        }
    }

    /// What a person sees now.
    pub(super) async fn view(&self, person: &Person) -> Arc<View> {
        let snapshot = self.snapshots.current().await;
        let sight = match &person.user {
            None => Sight::ALL,
            Some(user) => self.rights.sight(user, &places(&snapshot)).await,
        };
        self.views.of(&snapshot, sight).await
    }
}

pub(super) fn not_allowed(methods: &str) -> Response<Body> {
    let mut refused = reply::text(StatusCode::METHOD_NOT_ALLOWED, "405 Method Not Allowed");
    reply::put(&mut refused, ALLOW, methods);
    refused
}
