//! Buckets at versitygw (S3), fake-gcs-server (Google Cloud Storage) and Azurite (Azure Blob Storage), compared with
//! Flux's own source-controller: revision, files of the artifact, conditions, observed fields, events. What else is
//! told of logins is in `logins`.
//!
//! Takes about a minute, most of it ten thousand objects.

mod logins;
mod specs;
mod stores;

use crate::rounds::{Known, Rounds};
use specs::{cases, secrets};
use stores::Stores;

const KNOWN: Known = Known {
    floor: 51,
    otherwise: &[],
};

#[test]
fn buckets_show_what_fluxs_show() {
    let (Some(cluster), Some(stores)) = (crate::rounds::cluster(), Stores::fill()) else {
        return;
    };
    let variables = [("STORAGE_EMULATOR_HOST", stores.gcs.address().to_string())];
    let (cases, kind, folder) = (cases(&stores), ("Bucket", "buckets"), tempfile::tempdir().unwrap());
    let secrets = secrets(&stores);
    let mut rounds = Rounds::first(&cluster, kind, &secrets, &cases, folder.path(), &variables);
    stores.go_on();
    rounds.second();
    rounds.report(&KNOWN);
}
