//! Serves artifacts once this process leads (source-controller v1.9, `main.go`): before that another one may still write to the
//! folder.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::SetOnce;
use tokio::task::JoinSet;

use crate::controllers::process::StartError;
use crate::controllers::settings::Settings;
use bumpwright_runtime::Log;
use bumpwright_storage::{self as storage, Storage, StorageError};

/// The controller that writes the artifacts.
pub(crate) const CONTROLLER: &str = "source-controller";

/// The pause before another attempt at an address in use.
const PAUSE: Duration = Duration::from_secs(5);

/// Serves the storage once `elected` is set. Without leader election it listens at once.
///
/// # Errors
/// [`StartError::Listen`]
pub(crate) async fn serve(
    settings: &Settings,
    storage: Option<&Storage>,
    log: &Log,
    elected: Arc<SetOnce<Instant>>,
    background: &mut JoinSet<()>,
) -> Result<(), StartError> {
    let (Some(artifacts), Some(storage)) = (&settings.artifacts, storage) else {
        return Ok(());
    };
    let (log, storage, address) = (log.named("artifacts"), storage.clone(), artifacts.listen.clone());
    let listener = match settings.election {
        Some(_) => None,
        None => {
            let listener = storage::listen(&address).await;
            Some(listener.map_err(|error| StartError::Listen(error.to_string()))?)
        }
    };
    background.spawn(async move {
        elected.wait().await;
        let mut listener = listener;
        let listener = loop {
            match listener.take() {
                Some(listener) => break listener,
                None => match storage::listen(&address).await {
                    Ok(found) => listener = Some(found),
                    Err(error) => {
                        log.error(&error, "unable to serve artifacts");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
            }
        };
        let on_fault = move |fault: &StorageError| log.error(fault, "unable to serve an artifact");
        storage::serve(listener, storage, storage::limits(), on_fault, std::future::pending()).await;
    });
    Ok(())
}
