//! The work of a process that is a member of a group: begins with the group's leases, and ends with its own.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use super::member::{Lost, Process};
use super::{DealtKind, Shards};
use crate::parts::context::Context;
use crate::parts::registered::Workers;
use crate::process::{End, run_workers};
use crate::settings::Election;

/// Runs the workers of all controllers while the process is a member; returns the name of a lease that was lost.
pub(crate) async fn lead(
    context: Arc<Context>,
    dealt: (Arc<Shards>, Vec<DealtKind>),
    settings: (Election, usize),
    controllers: Vec<(&'static str, Vec<Workers>)>,
    ended: watch::Receiver<End>,
) -> Option<String> {
    let names: Vec<&'static str> = controllers.iter().map(|(name, _)| *name).collect();
    let (shards, kinds) = dealt;
    let (mut process, held) = Process::new(&context, (&shards, kinds), (&settings.0, settings.1), &names);
    let mut working = JoinSet::new();
    for ((name, workers), held) in controllers.into_iter().zip(held) {
        working.spawn(work(Arc::clone(&context), (name, workers), held, ended.clone()));
    }
    let mut at_once = ended.clone();
    let lost = tokio::select! {
        Lost(name) = process.run(ended.clone()) => Some(name),
        _ = at_once.wait_for(|end| *end == End::AtOnce) => Some(String::new()),
        () = async { while working.join_next().await.is_some() {} } => None,
    };
    // Dropping the workers cancels them at their next await.
    if lost.is_none() && settings.0.release {
        process.release().await;
    }
    lost
}

/// Runs the workers of a controller from the time when the group has its lease.
async fn work(
    context: Arc<Context>,
    (controller, workers): (&'static str, Vec<Workers>),
    mut held: watch::Receiver<bool>,
    mut ended: watch::Receiver<End>,
) {
    tokio::select! {
        _ = held.wait_for(|held| *held) => {}
        _ = ended.wait_for(|end| *end != End::NotYet) => return,
    }
    run_workers(&context, controller, workers, &mut ended).await;
}
