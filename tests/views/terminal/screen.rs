//! What a real terminal gets: colours, lines that fit, and a screen that is cleared.

use super::{at_a_terminal, ok};
use crate::seed::seeded;
use bumpwright_testkit::apiserver::Cluster;
use bumpwright_testkit::waiting::until;
use bumpwright_testkit::world::KUSTOMIZATION;
use parking_lot::Mutex;
use serde_json::json;
use std::io::Read;
use std::sync::Arc;

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn lines_fit_the_terminal_and_have_colours() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "screen-a");
    for columns in [60, 100] {
        for arguments in [["status"].as_slice(), &["get", "ks"], &["tree", "ks", "root"]] {
            let arguments = [arguments, &["-n", "screen-a"]].concat();
            let Some(mut command) = at_a_terminal(cluster, columns, &arguments) else {
                return;
            };
            let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
            assert!(text.contains("\u{1b}[31m"), "{text:?}");
            let long: Vec<String> = plain(&text)
                .lines()
                .filter(|line| line.chars().count() > columns)
                .map(str::to_owned)
                .collect();
            // Columns other than the last are whole.
            let is_cut = columns == 60 && arguments.contains(&"get");
            assert!(long.is_empty() || is_cut, "{columns}: {long:#?}");
        }
    }
    assert!(!ok(&world, &["status"]).contains('\u{1b}'));
}

#[test]
fn a_watched_screen_is_shown_anew() {
    let Some(cluster) = Cluster::shared() else { return };
    let world = seeded(cluster, "screen-b");
    let Some(mut command) = at_a_terminal(cluster, 120, &["status", "--watch", "-n", "screen-b"]) else {
        return;
    };
    let mut child = command.spawn().unwrap();
    let seen: Arc<Mutex<String>> = Arc::default();
    let (mut out, kept) = (child.stdout.take().unwrap(), Arc::clone(&seen));
    let reader = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = out.read(&mut bytes) {
            kept.lock().push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    });
    // The last screen is what is after the last time that the terminal was cleared.
    let screen = || plain(seen.lock().rsplit("\u{1b}[2J").next().unwrap());
    until("the first screen", || screen().contains("Needs attention: "));
    world.patch(KUSTOMIZATION, "infra", &json!({"spec": {"suspend": true}}));
    until("the suspended one is on the screen", || {
        screen().contains("Kustomization/screen-b/infra paused")
    });
    assert!(screen().starts_with("KIND "), "{}", screen());
    // By its id: `script` ends what it has started.
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap();
}
