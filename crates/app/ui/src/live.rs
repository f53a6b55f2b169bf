//! Server-sent events: a message whenever what a person sees has changed. A stream ends after some minutes, and
//! the browser asks again.

use std::sync::Arc;
use std::time::Duration;

use bumpwright_http_server::Body;
use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::auth::Person;
use super::call::Call;
use super::reply;
use super::server::Ui;
use super::shares::Share;

/// The most streams, and those of one person: a browser has six connections to a server, and needs one for pages.
pub(super) const STREAMS: usize = 128;
pub(super) const OF_ONE: usize = 5;

/// How long a stream lasts.
const LASTS: Duration = Duration::from_secs(300);

/// How often something is sent even if nothing changed: a client that is gone is noticed by that.
const BEAT: Duration = Duration::from_secs(15);

/// Changes that follow each other so closely are one.
const GATHER: Duration = Duration::from_millis(1000);

pub(super) fn stream(ui: &Arc<Ui>, call: &Call, person: Person) -> Response<Body> {
    let Some(share) = ui.streams.take(person.party()) else {
        let mut refused = reply::text(
            StatusCode::TOO_MANY_REQUESTS,
            "too many pages are open; this one is not kept up to date",
        );
        reply::put(&mut refused, http::header::RETRY_AFTER, "60");
        return refused;
    };
    let (send, receive) = mpsc::channel(1);
    let stream = Stream {
        ui: Arc::clone(ui),
        headers: call.headers.clone(),
        last: last_seen(call),
        send,
        _share: share,
    };
    tokio::spawn(stream.run());
    reply::events(Body::streamed(receive))
}

/// What the client knows: the last message before the connection broke, else the page itself, after which
/// something may have changed.
fn last_seen(call: &Call) -> Option<String> {
    let header = call.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let id = header.map_or_else(|| call.parameter("seen"), str::to_owned);
    (!id.is_empty()).then_some(id)
}

struct Stream {
    ui: Arc<Ui>,
    headers: HeaderMap,
    /// The mark of the view that the client has.
    last: Option<String>,
    send: mpsc::Sender<Bytes>,
    _share: Share,
}

impl Stream {
    /// Until the client is gone: somebody who goes from page to page leaves streams behind, which count until they end.
    async fn run(self) {
        let client = self.send.clone();
        tokio::select! {
            () = client.closed() => {}
            () = self.tell() => {}
        }
    }

    async fn tell(mut self) {
        let mut changes = self.ui.snapshots.changes();
        let end = Instant::now() + LASTS;
        if !self.say(":\nretry: 3000\n\n".to_owned()).await {
            return;
        }
        while Instant::now() < end {
            changes.mark_unchanged();
            if !self.look().await {
                return;
            }
            if timeout(BEAT, changes.changed()).await.is_ok() {
                sleep(GATHER).await;
            }
        }
    }

    /// Looks at what the person may see now, and tells when that is something else; false when the stream is over.
    async fn look(&mut self) -> bool {
        // The session may have ended meanwhile.
        let Ok(person) = self.ui.gate.person(&self.headers).await else {
            return false;
        };
        let view = self.ui.view(&person).await;
        let mark = view.seen();
        let text = match self.last.replace(mark.clone()) {
            None => format!("id: {mark}\n:\n\n"),
            Some(last) if last == mark => ":\n\n".to_owned(),
            Some(_) => format!("id: {mark}\ndata: changed\n\n"),
        };
        drop(view);
        self.say(text).await
    }

    /// Sends a text; false when the client is gone, or takes nothing.
    async fn say(&self, text: String) -> bool {
        let sent = timeout(BEAT, self.send.send(Bytes::from(text))).await;
        sent.is_ok_and(|sent| sent.is_ok())
    }
}
