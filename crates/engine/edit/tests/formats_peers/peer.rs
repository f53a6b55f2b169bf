//! Programs that read documents of a format as it is meant.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio};

/// What a command makes of a text on its input.
pub fn run(command: &mut Command, text: &str) -> Output {
    let command = command.stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that has seen enough reads no more.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    child.wait_with_output().unwrap()
}

/// A program that answers each line of its input with a line.
pub struct Peer(RefCell<(Child, ChildStdin, BufReader<ChildStdout>)>);

impl Peer {
    pub fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self(RefCell::new((child, input, BufReader::new(output))))
    }

    /// What it makes of a text: both are JSON. None if it refuses the text.
    pub fn read(&self, text: &str) -> Option<Vec<(String, String)>> {
        let (_, input, output) = &mut *self.0.borrow_mut();
        let line = serde_json::to_string(text).unwrap() + "\n";
        input.write_all(line.as_bytes()).unwrap();
        input.flush().unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
        let values = answer.get("values")?.as_object().unwrap();
        let value = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
        Some(values.iter().map(|(name, text)| (name.clone(), value(text))).collect())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let (child, ..) = self.0.get_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}
