//! Indexes of chart repositories that take many times their bytes once they are read: of entries, charts and lists
//! of a few bytes each.

use serde_json::json;

use crate::siege::siege;
use bumpwright_testkit::reply::Reply;
use bumpwright_testkit::stub_http::StubHttp;
use bumpwright_testkit::world::{HELM_REPOSITORY, World};

/// Less than an index may have.
const SIZE: usize = 24 << 20;

/// The text of a shape: what comes before, and a part that is there again and again.
fn index(shape: &str) -> String {
    let often = |before: &str, part: &str, after: &str| {
        let count = SIZE / part.len();
        format!("apiVersion: v1\n{before}{}{after}\n", part.repeat(count))
    };
    match shape {
        "lines" => often("entries:\n  a:\n", "  - name: a\n    version: 1.0.0\n", ""),
        "flow" => often("entries:\n  a:\n", "  - {name: a, version: 1.0.0}\n", ""),
        "head" => often("serverInfo: {a: [", "0,", "0]}\nentries: {a: []}"),
        "entry" => often("entries:\n  a:\n  - {name: a, version: 1.0.0, keywords: [", "a,", "a]}"),
        _ => {
            let names = (0..SIZE / 12).map(|number| format!("  a{number}: []\n"));
            format!("apiVersion: v1\nentries:\n{}", names.collect::<String>())
        }
    }
}

#[test]
fn indexes_that_swell() {
    let Some(siege) = siege() else { return };
    let world = World::new(siege.cluster, "mallory-swells-indexes");
    let server = StubHttp::start(|request| {
        let shape = request
            .path
            .trim_matches('/')
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        Reply::bytes(200, "text/yaml", index(&shape))
    });
    for (shape, expected) in [
        ("lines", "--fetch-memory raises the bound"),
        ("charts", "--fetch-memory raises the bound"),
        ("flow", "--fetch-memory raises the bound"),
        ("head", "more than 1048576 bytes besides its entries"),
        ("entry", "an entry of the index has more than 1048576 bytes"),
    ] {
        world.add(
            HELM_REPOSITORY,
            shape,
            json!({"url": server.url(shape), "interval": "1h"}),
        );
        world.ready(HELM_REPOSITORY, shape, "False", |reason, message| {
            reason == "IndexationFailed" && message.contains(expected)
        });
        // It would be tried again.
        world.delete(HELM_REPOSITORY, shape);
    }
    println!("peak {} KiB", siege.controller.memory("VmHWM"));
    siege.stands();
}
