//! Accepting connections, until the server is stopped.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection;
use super::connections::ConnectionLimit;
use super::progress::Progress;
use super::{Body, Limits};

/// After an error of `accept`, such as too many open files, before the next attempt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `stop` is done: then accepts no more connections, closes the idle ones, and waits
/// [`Limits::end_time`] for the responses on their way.
pub async fn serve<H, F>(listener: TcpListener, limits: Limits, handler: H, stop: impl Future<Output = ()>)
where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let (stopping, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::select! {
        () = accept(&listener, limits, Arc::new(handler), &stopped, &mut connections) => {}
        () = stop => {}
    }
    drop(listener);
    drop(stopping);
    // Connections that are not done by then are closed when the set is dropped.
    let _ = timeout(limits.end_time, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
}

async fn accept<H, F>(
    listener: &TcpListener,
    limits: Limits,
    handler: Arc<H>,
    stopped: &watch::Receiver<()>,
    connections: &mut JoinSet<()>,
) where
    H: Fn(Request<Bytes>) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let limit = ConnectionLimit::new(limits.connections);
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            limit.evict_idle();
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let slot = limit.acquire(peer.ip()).await;
        // A response is sent in few writes; waiting to fill a packet only delays it.
        let _ = stream.set_nodelay(true);
        let progress = Arc::new(Progress::new(limits, slot));
        let (handler, stopped) = (Arc::clone(&handler), stopped.clone());
        connections.spawn(async move {
            tokio::select! {
                () = connection::serve(stream, Arc::clone(&progress), handler, stopped) => {}
                () = progress.slot.evicted() => {}
            }
        });
    }
}
