//! The HTTP server of pages: who asks, what that person sees, and the answer.

use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::{self as http_server, Body, Limits};
use bumpwright_kube::Cluster;
use bumpwright_pages::{Frame, Listing, Page, Route, SCRIPT, STYLE, render, script_path, style_path};
use bumpwright_runtime::{Event, Log};
use bytes::Bytes;
use http::header::ALLOW;
use http::{Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::actions;
use super::auth::{Csrf, Gate, Person};
use super::call::Call;
use super::content::{self, Extra};
use super::health::Healths;
use super::history::{Differences, History};
use super::live;
use super::object::{Reader, Unseen};
use super::reply;
use super::rights::{Rights, Sight};
use super::settings::UiSettings;
use super::shares::Shares;
use super::snapshot::{Fields, IDLE, Snapshots};
use super::tags::TagReader;
use super::view::{View, Views, places};
use super::watches::Watches;

/// The most requests at once, and those of one person; streams have bounds of their own.
const REQUESTS: usize = 64;
const OF_ONE: usize = 12;

/// Pages that are made at once: reconciliations have the same processors.
const AT_ONCE: usize = 2;

/// How long a page waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// The largest body of a request: a form with a token.
const BODY: usize = 16 << 10;

/// The most connections: each stream has one.
const CONNECTIONS: usize = 256;

/// What is called for each event.
type Announce = Box<dyn Fn(Event) + Send + Sync>;

/// What the server is made of.
pub(crate) struct Start {
    pub(crate) settings: UiSettings,
    /// With connections and a rate of its own.
    pub(crate) cluster: Cluster,
    pub(crate) watches: Watches,
    pub(crate) tags: TagReader,
    /// Marked fields, where this process knows any.
    pub(crate) fields: Option<Fields>,
    /// Differences of commits, where this process has mirrors of repositories.
    pub(crate) differences: Option<Differences>,
    pub(crate) announce: Announce,
    pub(crate) log: Log,
}

/// The server.
pub(super) struct Ui {
    pub(super) settings: UiSettings,
    pub(super) cluster: Cluster,
    pub(super) gate: Gate,
    pub(super) snapshots: Arc<Snapshots>,
    pub(super) streams: Shares,
    pub(super) announce: Announce,
    pub(super) log: Log,
    pub(super) watches: Arc<Watches>,
    rights: Arc<Rights>,
    healths: Arc<Healths>,
    views: Arc<Views>,
    tags: TagReader,
    differences: Option<Differences>,
    pub(super) csrf: Csrf,
    pub(super) requests: Shares,
    turns: Semaphore,
}

/// Serves pages until the process ends. Returns at once when the system has no random bytes.
pub(crate) async fn serve(start: Start, listener: TcpListener) {
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
            announce,
            log,
        } = start;
        let (watches, rights) = (Arc::new(watches), Arc::new(Rights::new(cluster.clone())));
        let healths = Arc::new(Healths::new(cluster.clone(), Arc::clone(&rights)));
        let views = Arc::new(Views::default());
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
            snapshots: Snapshots::new(Arc::clone(&watches), fields, IDLE, forgotten),
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
            Some(user) => self.rights.sight(user, &places(&snapshot.world)).await,
        };
        self.views.of(&snapshot, sight).await
    }

    async fn page(self: Arc<Self>, call: Call, person: Person) -> Response<Body> {
        let Some(_share) = self.requests.take(person.party()) else {
            return reply::text(StatusCode::TOO_MANY_REQUESTS, "too many requests at once");
        };
        let view = self.view(&person).await;
        let extra = match self.extra(&call, &person, &view).await {
            Ok(extra) => extra,
            Err(Unseen::NotFound) => return self.missing(&call, &person).await,
            Err(Unseen::Unreadable) => {
                let why = "This object cannot be read: the rights of this server may not include it.";
                return self.wrong(&call, Some(&person), StatusCode::BAD_GATEWAY, why).await;
            }
        };
        let Ok(Ok(_turn)) = timeout(PATIENCE, self.turns.acquire()).await else {
            return reply::text(StatusCode::SERVICE_UNAVAILABLE, "too many pages are made at once");
        };
        let made = tokio::task::spawn_blocking({
            let ui = Arc::clone(&self);
            move || {
                let html = ui.html(&call, &person, &view, extra);
                (call, person, html)
            }
        });
        match made.await {
            Ok((call, _, Some(Ok(html)))) => reply::page(&call, 200, html),
            Ok((call, person, None)) => self.missing(&call, &person).await,
            Ok((_, _, Some(Err(why)))) => self.broken(&why),
            Err(error) => self.broken(&error.to_string()),
        }
    }

    /// Reads what the model does not have.
    async fn extra(&self, call: &Call, person: &Person, view: &View) -> Result<Extra, Unseen> {
        let object = match &call.route {
            Some(Route::Object(object)) => object,
            Some(Route::Kustomization(name)) => {
                return Ok(Extra {
                    inventory: self.healths.of(person, &view.world, name).await,
                    ..Extra::default()
                });
            }
            _ => return Ok(Extra::default()),
        };
        let reader = Reader {
            watches: &self.watches,
            cluster: &self.cluster,
            rights: &self.rights,
            world: &view.world,
            user: person.user.as_ref(),
        };
        Ok(Extra {
            object: Some(reader.read(object).await?),
            ..Extra::default()
        })
    }

    /// The page as HTML; none where there is nothing to see. Blocks.
    fn html(&self, call: &Call, person: &Person, view: &View, mut extra: Extra) -> Option<Result<String, String>> {
        let route = call.route.as_ref()?;
        if let Route::Policy(name) = route {
            let mut images = view.overview.images.iter();
            let image = images.find(|image| image.policy.name == *name);
            // Tags belong to the repository.
            let image = image.filter(|image| view.world.readiness(&image.repository).is_some());
            extra.tags = image
                .map(|image| self.tags.rows(&self.watches, image))
                .unwrap_or_default();
        }
        if let Route::Automation(name) = route {
            extra.history = History::read(view, name, self.differences.as_ref());
        }
        let done = call.parameter("done");
        let notice = match view.left_out.is_empty() {
            true => actions::notice(&done).map(str::to_owned),
            false => Some(view.left_out.join("\n")),
        };
        let (csrf, seen) = (self.csrf.token(person), view.seen());
        let frame = Frame {
            csrf: Some(&csrf),
            now: view.world.now,
            live: Some(&seen),
            attention: view.overview.attention.len(),
            notice: notice.as_deref(),
            ..self.frame(call, Some(person))
        };
        let listing = Listing::parse(&call.query);
        content::page(route, view, &extra, &listing, |page| {
            render(&frame, page).map_err(|error| error.to_string())
        })
    }

    fn frame<'a>(&'a self, call: &'a Call, person: Option<&'a Person>) -> Frame<'a> {
        Frame {
            person: person.map(Person::name).filter(|name| !name.is_empty()),
            can_sign_out: person.is_some_and(|person| person.session.is_some()),
            now: super::snapshot::now(),
            version: env!("CARGO_PKG_VERSION"),
            cluster: &self.settings.cluster,
            csrf: None,
            has_actions: self.settings.actions,
            live: None,
            path: &call.target,
            attention: 0,
            notice: None,
            explain: &self.settings.advice,
        }
    }

    /// What is not there, and what a person may not see, look alike.
    async fn missing(&self, call: &Call, person: &Person) -> Response<Body> {
        let why = "There is no such object, or you may not see it.";
        self.wrong(call, Some(person), StatusCode::NOT_FOUND, why).await
    }

    pub(super) async fn wrong(
        &self,
        call: &Call,
        person: Option<&Person>,
        status: StatusCode,
        message: &str,
    ) -> Response<Body> {
        let status = status.as_u16();
        self.small(call, person, status, &Page::Error { status, message })
    }

    /// A page that nothing is read for.
    pub(super) fn small(&self, call: &Call, person: Option<&Person>, status: u16, page: &Page<'_>) -> Response<Body> {
        let csrf = person.map(|person| self.csrf.token(person));
        let frame = Frame {
            csrf: csrf.as_deref(),
            ..self.frame(call, person)
        };
        match render(&frame, page) {
            Ok(html) => reply::page(call, status, html),
            Err(error) => self.broken(&error.to_string()),
        }
    }

    fn broken(&self, why: &str) -> Response<Body> {
        self.log.error(&why, "a page cannot be made");
        reply::text(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this page cannot be made; the log says why",
        )
    }
}

pub(super) fn not_allowed(methods: &str) -> Response<Body> {
    let mut refused = reply::text(StatusCode::METHOD_NOT_ALLOWED, "405 Method Not Allowed");
    reply::put(&mut refused, ALLOW, methods);
    refused
}
