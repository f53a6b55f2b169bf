//! Requests to the server of artifacts.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use bumpwright_artifact::digest::Algorithm;
use bumpwright_storage::{Retention, Settings, Storage, limits, listen, serve};

/// The address of a server with `gitrepository/a/b/c.tar.gz`, which has 100 bytes.
fn server() -> &'static str {
    static SERVER: OnceLock<String> = OnceLock::new();
    SERVER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder is made").keep();
        std::fs::create_dir_all(folder.join("gitrepository/a/b")).expect("a folder is made");
        std::fs::write(folder.join("gitrepository/a/b/c.tar.gz"), [b'x'; 100]).expect("a file is written");
        let settings = Settings {
            path: folder,
            host: "h".to_owned(),
            retention: Retention {
                ttl: Duration::from_secs(60),
                records: 2,
            },
            algorithm: Algorithm::Sha256,
            max_size: None,
            room: 1 << 30,
        };
        let storage = Storage::new(settings).expect("the folder is usable");
        let (told, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime starts");
            runtime.block_on(async {
                let listener = listen("127.0.0.1:0").await.expect("a port is free");
                told.send(listener.local_addr().expect("it is bound").to_string())
                    .expect("the other side waits");
                serve(listener, storage, limits(), |_| {}, std::future::pending()).await;
            });
        });
        address.recv().expect("the server starts")
    })
}

/// Any bytes to the server, which answers them or ends the connection, and in time.
pub fn check(input: &[u8]) {
    let mut stream = TcpStream::connect(server()).expect("the server accepts");
    stream
        .set_read_timeout(Some(Duration::from_secs(8)))
        .expect("a time is set");
    let _ = stream.write_all(input);
    let _ = stream.shutdown(Shutdown::Write);
    let mut response = Vec::new();
    if let Err(error) = stream.read_to_end(&mut response) {
        assert!(
            !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
            "the server does not end"
        );
    }
    assert!(
        response.is_empty() || response.starts_with(b"HTTP/1."),
        "no response: {response:?}"
    );
}
