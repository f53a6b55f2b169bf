//! Signing in and out, forms, and the answer to strangers.

use bumpwright_http_server::Body;
use bumpwright_pages::{Page, Route};
use bumpwright_secret::Secret;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

use super::actions::{self, NotDone};
use super::auth::{COOKIE_NAME, Gate, LASTS, Unknown};
use super::call::{Call, back};
use super::reply;
use super::server::{Ui, not_allowed};

impl Ui {
    /// The page to sign in, and its form.
    pub(super) async fn sign_in(&self, call: Call) -> Response<Body> {
        if !matches!(self.gate, Gate::Token(..)) {
            return reply::see_other("/");
        }
        if call.is_read() {
            return self.sign_in_page(&call, 200, None, &call.parameter("back")).await;
        }
        if !call.is_post() {
            return not_allowed("GET, HEAD, POST");
        }
        let to = call.field("back");
        if !call.is_from_here() {
            return self
                .sign_in_page(&call, 403, Some("The form came from another site."), &to)
                .await;
        }
        let token = Secret::new(call.field("token").trim());
        match self.gate.sign_in(&token).await {
            Ok(cookie) => {
                let secure = if call.is_secure() { "; Secure" } else { "" };
                let (text, age) = (cookie.text(), LASTS.as_secs());
                let cookie = format!("{COOKIE_NAME}={text}; Path=/; HttpOnly; SameSite=Strict; Max-Age={age}{secure}");
                reply::with_cookie(reply::see_other(back(&to)), &cookie)
            }
            Err(Unknown::NotChecked) => {
                let why = "The token cannot be checked at the moment.";
                self.sign_in_page(&call, 503, Some(why), &to).await
            }
            Err(_) => {
                let why = "The cluster does not accept this token.";
                self.sign_in_page(&call, 401, Some(why), &to).await
            }
        }
    }

    async fn sign_in_page(&self, call: &Call, status: u16, error: Option<&str>, to: &str) -> Response<Body> {
        let page = Page::SignIn { error, back: back(to) };
        self.small(call, None, status, &page)
    }

    /// Signs somebody out, or does what was asked for.
    pub(super) async fn form(&self, call: Call, route: Route) -> Response<Body> {
        let person = match self.gate.person(&call.headers).await {
            Ok(person) => person,
            Err(unknown) => return self.stranger(&call, unknown).await,
        };
        if !call.is_from_here() || !self.csrf.is_right(&person, &call.field("csrf")) {
            let why = "The form is not of this session: load the page again.";
            return self.wrong(&call, Some(&person), StatusCode::FORBIDDEN, why).await;
        }
        if route == Route::SignOut {
            self.gate.sign_out(&person);
            let cookie = format!("{COOKIE_NAME}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
            return reply::with_cookie(reply::see_other("/"), &cookie);
        }
        let Some(_share) = self.requests.take(person.party()) else {
            return reply::text(StatusCode::TOO_MANY_REQUESTS, "too many requests at once");
        };
        match actions::act(self, &call, &person).await {
            Ok(response) => response,
            Err(NotDone { status, why }) => self.wrong(&call, Some(&person), status, &why).await,
        }
    }

    /// The answer to somebody who is not known.
    pub(super) async fn stranger(&self, call: &Call, unknown: Unknown) -> Response<Body> {
        let (status, why) = match unknown {
            Unknown::NotChecked => (
                StatusCode::SERVICE_UNAVAILABLE,
                "who you are cannot be checked at the moment",
            ),
            Unknown::Proxy => (StatusCode::UNAUTHORIZED, "sign in at the proxy before this server"),
            Unknown::Nobody | Unknown::Refused => (StatusCode::UNAUTHORIZED, "sign in, or send a token of the cluster"),
        };
        let asks_for_page = call.is_read() && call.route != Some(Route::Events);
        let has_token = call.headers.contains_key(AUTHORIZATION);
        if status == StatusCode::UNAUTHORIZED && unknown != Unknown::Proxy && asks_for_page && !has_token {
            let to: String = url::form_urlencoded::byte_serialize(call.target.as_bytes()).collect();
            return reply::see_other(&format!("{}?back={to}", Route::SignIn));
        }
        let mut refused = reply::text(status, why);
        if status == StatusCode::UNAUTHORIZED {
            reply::put(&mut refused, WWW_AUTHENTICATE, "Bearer");
        }
        refused
    }
}
