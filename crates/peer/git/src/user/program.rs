//! The user's `git`, run for a short answer.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// Runs a command with this input. None when it fails, or the deadline passes.
#[expect(
    clippy::disallowed_methods,
    reason = "the output of the user's git; bound: 64 KiB; account: none, of the user's machine"
)]
pub(super) fn answer(mut command: Command, input: &Secret, deadline: Deadline) -> Option<Secret> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    // A short text fits into an empty pipe: this cannot block.
    let written = stdin.is_some_and(|mut pipe| pipe.write_all(input.expose().as_bytes()).is_ok());
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut text = String::new();
        let ended = stdout.map(|pipe| pipe.take(64 * 1024).read_to_string(&mut text));
        // The receiver may have timed out.
        let _ = sender.send(ended.is_some_and(|r| r.is_ok()).then(|| Secret::new(text)));
    });
    let answer = receiver
        .recv_timeout(deadline.left())
        .ok()
        .flatten()
        .filter(|_| written);
    if answer.is_none() {
        // It may have ended on its own.
        let _ = child.kill();
    }
    child.wait().ok().filter(std::process::ExitStatus::success).and(answer)
}
