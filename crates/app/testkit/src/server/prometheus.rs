//! The real Prometheus, built by `tests/tools/prepare-real`, on a free port with a temporary folder.
//! It looks every second.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::program::running::{Answer, Client, Running};
use crate::program::waiting::{until, wait_for};

/// A program to scrape.
pub struct Target {
    pub job: &'static str,
    /// The name of the pod, for a program of ours.
    pub pod: &'static str,
    /// Host and port.
    pub address: String,
    /// The certificate authority and the token, for HTTPS.
    pub secure: Option<(Vec<u8>, String)>,
}

/// A running server, which ends when it is dropped.
pub struct Prometheus {
    server: Running,
    client: Client,
}

impl Prometheus {
    /// Scrapes these targets and evaluates the rules of a file. None when the program is missing.
    pub fn start(targets: &[Target], rules: &Path) -> Option<Self> {
        let program = crate::tool("prometheus")?;
        let server = Running::start(|port, folder| {
            let jobs: Vec<Json> = targets.iter().map(|target| job(folder, target)).collect();
            let configuration = json!({
                "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
                "rule_files": [rules], "scrape_configs": jobs,
            });
            fs::write(folder.join("prometheus.yml"), configuration.to_string()).unwrap();
            let mut command = Command::new(&program);
            command.args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--log.level=warn",
            ]);
            command
                .arg(format!("--web.listen-address=127.0.0.1:{port}"))
                .current_dir(folder);
            command
        });
        let prometheus = Self {
            server,
            client: Client::new(),
        };
        until("Prometheus is ready", || prometheus.get("/-/ready").status == 200);
        Some(prometheus)
    }

    fn get(&self, path: &str) -> Answer {
        let url = format!("http://{}{path}", self.server.address());
        self.client.send("GET", &url, [], b"")
    }

    /// The data of its API, or its error.
    ///
    /// # Errors
    /// The server's words.
    pub fn ask(&self, path: &str, parameters: &[(&str, &str)]) -> Result<Json, String> {
        let parameters = url::form_urlencoded::Serializer::new(String::new())
            .extend_pairs(parameters)
            .finish();
        let answer = self.get(&format!("/api/v1/{path}?{parameters}"));
        let mut body: Json = serde_json::from_slice(&answer.body).unwrap();
        match body["status"].as_str() {
            Some("success") if body.get("warnings").is_none() => Ok(body["data"].take()),
            _ => Err(body.to_string()),
        }
    }

    /// The series of an expression now.
    ///
    /// # Errors
    /// The server's words.
    pub fn query(&self, expression: &str) -> Result<Vec<Json>, String> {
        let mut found = self.ask("query", &[("query", expression)])?;
        match found["resultType"].as_str() {
            Some("vector") => Ok(serde_json::from_value(found["result"].take()).unwrap()),
            _ => Err(found.to_string()),
        }
    }

    /// Waits until an expression has series; returns them.
    pub fn finds(&self, expression: &str) -> Vec<Json> {
        wait_for(
            || Some(self.query(expression).unwrap()).filter(|found| !found.is_empty()),
            || format!("{expression} has series"),
        )
    }

    /// Its warnings and errors.
    pub fn log(&self) -> String {
        self.server.log()
    }
}

fn job(folder: &Path, target: &Target) -> Json {
    let mut labels = json!({});
    if !target.pod.is_empty() {
        labels["pod"] = json!(target.pod);
    }
    let mut job = json!({
        "job_name": target.job, "honor_labels": true,
        "static_configs": [{"targets": [target.address], "labels": labels}],
    });
    if let Some((authority, token)) = &target.secure {
        let file = folder.join("authority.crt");
        fs::write(&file, authority).unwrap();
        job["scheme"] = json!("https");
        job["tls_config"] = json!({ "ca_file": file });
        job["authorization"] = json!({ "credentials": token });
    }
    job
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("Prometheus: {}", self.log());
        }
    }
}
