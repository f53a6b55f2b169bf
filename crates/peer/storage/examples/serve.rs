//! Serves a folder of artifacts until it is stopped: `cargo run -p bumpwright-storage --example
//! serve -- FOLDER HOST:PORT`.
#![allow(clippy::print_stderr)]

use std::error::Error;

use bumpwright_storage::{
    Algorithm, Retention, Settings, Storage, StorageError, advertised_host, host_name, limits, listen, serve,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(folder), Some(address)) = (args.next(), args.next()) else {
        return Err("give a folder and an address".into());
    };
    let storage = Storage::new(Settings {
        path: folder.into(),
        host: advertised_host(&address, "", host_name)?,
        retention: Retention::default(),
        algorithm: Algorithm::default(),
        max_size: None,
        room: u64::MAX,
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = listen(&address).await?;
        eprintln!("serving at {}", listener.local_addr()?);
        let on_fault = |fault: &StorageError| eprintln!("{fault}");
        serve(listener, storage, limits(), on_fault, std::future::pending()).await;
        Ok(())
    })
}
