//! From a request of somebody who is known to the answer: what the page needs is read, and the page is
//! made in its turn.

pub(crate) mod content;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod object;
pub(crate) mod requests;
pub(crate) mod tags;

use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::Body;
use bumpwright_kube::{HELM_RELEASE, KUSTOMIZATION};
use bumpwright_overview::Id;
use bumpwright_pages::{Frame, Listing, Page, RenderError, Route, render};
use http::{Response, StatusCode};
use tokio::time::timeout;

use super::actions;
use super::auth::Person;
use super::call::Call;
use super::reply;
use super::server::Ui;
use super::view::View;
use content::Extra;
use history::History;
use object::{Reader, Unseen};

/// How long a page waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

impl Ui {
    pub(super) async fn page(self: Arc<Self>, call: Call, person: Person) -> Response<Body> {
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
        let rendered = tokio::task::spawn_blocking({
            let ui = Arc::clone(&self);
            move || {
                let html = ui.html(&call, &person, &view, extra);
                (call, person, html)
            }
        });
        match rendered.await {
            Ok((call, _, Some(Ok(html)))) => reply::page(&call, 200, html),
            Ok((call, person, None)) => self.missing(&call, &person).await,
            Ok((_, _, Some(Err(error)))) => self.broken(&error.to_string()),
            Err(error) => self.broken(&error.to_string()),
        }
    }

    /// Reads what the model does not have.
    async fn extra(&self, call: &Call, person: &Person, view: &View) -> Result<Extra, Unseen> {
        let applier = match &call.route {
            Some(Route::Kustomization(name)) => Some(Id::new(KUSTOMIZATION.kind, name.clone())),
            Some(Route::Release(name)) => Some(Id::new(HELM_RELEASE.kind, name.clone())),
            _ => None,
        };
        if let Some(id) = applier {
            return Ok(Extra {
                inventory: self.healths.of(person, &view.world, &id).await,
                ..Extra::default()
            });
        }
        let Some(Route::Object(object)) = &call.route else {
            return Ok(Extra::default());
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
    fn html(&self, call: &Call, person: &Person, view: &View, mut extra: Extra) -> Option<Result<String, RenderError>> {
        let route = call.route.as_ref()?;
        if let Route::Policy(name) = route {
            let mut images = view.overview.images.iter();
            let image = images.find(|image| image.policy.name == *name);
            // Tags belong to the repository.
            let image = image.filter(|image| view.world.readiness(&image.repository).is_some());
            let image = image.into_iter();
            extra.tags = image.flat_map(|image| self.tags.rows(&self.watches, image)).collect();
        }
        if let Route::Automation(name) = route {
            extra.history = History::read(view, name, self.differences.as_ref());
        }
        let done = call.parameter("done");
        let notice = if view.left_out.is_empty() {
            actions::notice(&done).map(str::to_owned)
        } else {
            Some(view.left_out.join("\n"))
        };
        let (csrf, seen) = (self.csrf.token(person), view.seen());
        let frame = Frame {
            csrf: Some(&csrf),
            now: view.world.now,
            live: Some(&seen),
            attention: view.overview.attention.len(),
            notice: notice.as_deref(),
            is_partial: !view.left_out.is_empty(),
            ..self.frame(call, Some(person))
        };
        let listing = Listing::parse(&call.query);
        content::page(route, view, &extra, &listing, |page| render(&frame, page))
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
            has_reviews: self.snapshots.has_requests(),
            live: None,
            path: &call.target,
            attention: 0,
            notice: None,
            is_partial: false,
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
