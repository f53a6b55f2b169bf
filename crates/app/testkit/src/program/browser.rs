//! Scenes in a real browser, Chromium without a window: see `tests/views/browser/play.js`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};

/// The names that distributions give it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// A browser and what drives it.
pub struct Browser {
    chromium: PathBuf,
    node: PathBuf,
}

impl Browser {
    /// None when a part is missing.
    pub fn found() -> Option<Self> {
        let chromium = NAMES.into_iter().find_map(crate::found_in_path);
        if chromium.is_none() {
            crate::skipped("chromium", "install chromium");
        }
        Some(Self {
            node: crate::tool("browser")?,
            chromium: chromium?,
        })
    }

    /// Plays a scene with these arguments, among them `url`. `act` does what the scene asks for,
    /// and returns its answer.
    pub fn play(&self, scene: &str, mut arguments: Json, mut act: impl FnMut(&str, &Json) -> Json) {
        arguments["chromium"] = json!(self.chromium);
        arguments["output"] = json!(output());
        let mut child = Command::new(&self.node)
            .arg(crate::root().join("tests/views/browser/play.js"))
            .args([scene, &arguments.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child.stderr.take().unwrap();
        let errors = std::thread::spawn(move || std::io::read_to_string(&mut stderr).unwrap());
        let mut answers = child.stdin.take().unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let asked: Json = serde_json::from_str(&line).unwrap_or_else(|_| json!({ "say": line }));
            match asked["ask"].as_str() {
                Some(what) => writeln!(answers, "{}", act(what, &asked["value"])).unwrap(),
                None => println!("{}", asked["say"].as_str().unwrap_or(&line)),
            }
        }
        let is_done = child.wait().unwrap().success();
        assert!(is_done, "{scene}: {}", errors.join().unwrap());
    }
}

/// The folder for pictures, beside what the tests printed.
pub fn output() -> PathBuf {
    let folder = crate::target().join("test-output/browser");
    std::fs::create_dir_all(&folder).unwrap();
    folder.canonicalize().unwrap()
}
