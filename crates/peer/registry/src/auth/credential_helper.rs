//! Credential helpers: `docker-credential-NAME get`, with a server's name as input and JSON as output.
//!
//! Source: docker-credential-helpers v0.9.5, `client/client.go` and `credentials/credentials.go`. The output of a
//! helper is never shown: it may be a secret.

use std::collections::HashMap;
use std::env;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use zeroize::Zeroizing;

use super::config_fault::ConfigFault;
use super::json::read_answer;
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// The longest answer of a helper, in bytes.
const ANSWER_LIMIT: u64 = 256 * 1024;
/// The name beside a token instead of a password.
const TOKEN_NAME: &str = "<token>";
/// The answer of every helper for an unknown server.
const UNKNOWN: &str = "credentials not found in native keychain";
/// The interval of checks for a helper's exit once its output has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// A login of a helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HelperLogin {
    /// A name and a password; either may be empty.
    Password { username: String, password: Secret },
    /// A refresh token.
    IdentityToken(Secret),
}

/// Errors of a helper.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HelperError {
    /// The configured name is not a plain name, so it could be any program.
    #[error(
        "docker's configuration names the credential helper {name:?}; letters, digits, '.', '_' and '-' are allowed"
    )]
    Name {
        /// As configured.
        name: String,
    },
    /// No folder of `PATH` has the program.
    #[error(
        "the credential helper {program} that docker's configuration names is not in PATH; install it, or take it out \
         of the configuration"
    )]
    Missing {
        /// `docker-credential-NAME`
        program: String,
    },
    /// The program cannot be run.
    #[error("the credential helper {program} cannot be started: {reason}")]
    Start {
        /// `docker-credential-NAME`
        program: String,
        /// The system's words.
        reason: String,
    },
    #[error(
        "the credential helper {program} failed for {server} ({status}); to see why, run \
         `echo {server} | {program} get`"
    )]
    Failed {
        /// `docker-credential-NAME`
        program: String,
        server: String,
        status: String,
    },
    /// The program took too long.
    #[error("the credential helper {program} did not answer for {server} within {seconds} s")]
    Late {
        /// `docker-credential-NAME`
        program: String,
        server: String,
        seconds: u64,
    },
    /// The answer is too long.
    #[error("the credential helper {program} returned more than {ANSWER_LIMIT} bytes for {server}")]
    Long {
        /// `docker-credential-NAME`
        program: String,
        server: String,
    },
    /// The answer does not follow the protocol.
    #[error("the credential helper {program} returned no login for {server}: {fault}")]
    Answer {
        /// `docker-credential-NAME`
        program: String,
        server: String,
        /// The fault and its location.
        fault: ConfigFault,
    },
}

type Answer = Result<Option<HelperLogin>, HelperError>;
/// Answers by helper and server.
type Answers = HashMap<(String, String), Arc<OnceLock<Answer>>>;

/// The helpers of one run. Each runs once for a server, also with concurrent callers.
#[derive(Debug)]
pub struct CredentialHelpers {
    path: OsString,
    timeout: Duration,
    answers: Mutex<Answers>,
}

impl CredentialHelpers {
    /// Uses the programs in the folders of `path` (in the format of `PATH`), with a `timeout` for each answer.
    #[must_use]
    pub fn new(path: OsString, timeout: Duration) -> Self {
        Self {
            path,
            timeout,
            answers: Mutex::default(),
        }
    }

    /// Gets the login of a server from the helper `name`; none when it has none.
    ///
    /// # Errors
    ///
    /// [`HelperError`], cached as well.
    pub fn get(&self, name: &str, server: &str) -> Answer {
        let key = (name.to_owned(), server.to_owned());
        let slot = Arc::clone(self.answers.lock().entry(key).or_default());
        slot.get_or_init(|| self.run(name, server)).clone()
    }

    fn run(&self, name: &str, server: &str) -> Answer {
        let program = format!("docker-credential-{name}");
        let call = Call {
            program: &program,
            server,
            deadline: Deadline::after(self.timeout),
        };
        let mut child = Command::new(self.find(name, &program)?)
            .arg("get")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| HelperError::Start {
                program: program.clone(),
                reason: error.to_string(),
            })?;
        let result = call.converse(&mut child);
        if result.is_err() {
            // It may have exited.
            let _ = child.kill();
            let _ = child.wait();
        }
        result
    }

    /// Finds the program's file. Relative folders are skipped, as in Go.
    fn find(&self, name: &str, program: &str) -> Result<PathBuf, HelperError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if name.is_empty() || !name.bytes().all(plain) {
            return Err(HelperError::Name { name: name.to_owned() });
        }
        let file = format!("{program}{}", env::consts::EXE_SUFFIX);
        env::split_paths(&self.path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(&file))
            .find(|file| file.is_file())
            .ok_or_else(|| HelperError::Missing {
                program: program.to_owned(),
            })
    }
}

/// One run of a helper.
struct Call<'a> {
    program: &'a str,
    server: &'a str,
    deadline: Deadline,
}

impl Call<'_> {
    fn converse(&self, child: &mut Child) -> Answer {
        if let Some(mut input) = child.stdin.take() {
            // A short text fits into an empty pipe: this cannot block. A helper that does not read it may still answer.
            let _ = input.write_all(self.server.as_bytes());
        }
        let output = self.output(child)?;
        if output.len() as u64 > ANSWER_LIMIT {
            return Err(HelperError::Long {
                program: self.program.to_owned(),
                server: self.server.to_owned(),
            });
        }
        let status = self.status(child)?;
        if status.success() {
            self.read(&output)
        } else if output.trim_ascii() == UNKNOWN.as_bytes() {
            Ok(None)
        } else {
            Err(self.failed(status.to_string()))
        }
    }

    /// All output, or more than the limit. After the deadline the reader is abandoned: a child of the helper
    /// may hold the pipe open.
    #[expect(
        clippy::disallowed_methods,
        reason = "the output of a credential helper; bound: 256 KiB; account: none, of the user's machine"
    )]
    fn output(&self, child: &mut Child) -> Result<Zeroizing<Vec<u8>>, HelperError> {
        let Some(pipe) = child.stdout.take() else {
            return Err(self.failed("no output".to_owned()));
        };
        let (sender, receiver) = channel();
        thread::spawn(move || {
            // Allocated at full size, so that no part of a secret is left behind by a reallocation.
            let mut text = Zeroizing::new(Vec::with_capacity(ANSWER_LIMIT as usize + 64));
            let read = pipe.take(ANSWER_LIMIT + 1).read_to_end(&mut text);
            // The receiver may have timed out.
            let _ = sender.send(read.map(|_| text));
        });
        match receiver.recv_timeout(self.deadline.left()) {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => Err(self.failed(error.to_string())),
            Err(RecvTimeoutError::Timeout) => Err(self.late()),
            Err(RecvTimeoutError::Disconnected) => Err(self.failed("no output".to_owned())),
        }
    }

    fn status(&self, child: &mut Child) -> Result<ExitStatus, HelperError> {
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.deadline.passed() => return Err(self.late()),
                Ok(None) => thread::sleep(PAUSE),
                Err(error) => return Err(self.failed(error.to_string())),
            }
        }
    }

    fn read(&self, output: &[u8]) -> Answer {
        let (username, secret) = read_answer(output).map_err(|fault| HelperError::Answer {
            program: self.program.to_owned(),
            server: self.server.to_owned(),
            fault,
        })?;
        Ok(Some(match username.as_str() {
            TOKEN_NAME => HelperLogin::IdentityToken(secret),
            _ => HelperLogin::Password {
                username,
                password: secret,
            },
        }))
    }

    fn failed(&self, status: String) -> HelperError {
        HelperError::Failed {
            program: self.program.to_owned(),
            server: self.server.to_owned(),
            status,
        }
    }

    fn late(&self) -> HelperError {
        HelperError::Late {
            program: self.program.to_owned(),
            server: self.server.to_owned(),
            seconds: self.deadline.limit().as_secs(),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::time::Instant;

    use super::*;

    /// Answers by server, and logs its requests.
    const HELPER: &str = r#"#!/bin/sh
read -r server
echo "$1 $server" >> "$0.log"
case $server in
known.io) echo '{"ServerURL":"known.io","Username":"me","Secret":"hunter2"}';;
token.io) echo '{"Username":"<token>","Secret":"hunter2"} trailing';;
unknown.io) echo 'credentials not found in native keychain'; exit 1;;
broken.io) echo '{"Username":"me","Secret":hunter2}';;
number.io) echo '{"Username":"me","Secret":1234}';;
failing.io) echo 'hunter2'; echo 'hunter2' >&2; exit 3;;
endless.io) exec yes hunter2;;
hanging.io) exec sleep 60;;
daemon.io) echo '{"Username":"me","Secret":"hunter2"}'; sleep 5 & exit 0;;
esac
"#;

    /// A folder with the helper `docker-credential-test`. A shell writes it: a file that is open for
    /// writing in this process while another thread starts a program could not be run.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("docker-credential-test");
        let status = Command::new("/bin/sh")
            .args(["-c", "printf %s \"$1\" > \"$2\" && chmod 755 \"$2\"", "sh", HELPER])
            .arg(&file)
            .status();
        assert!(status.unwrap().success());
        folder
    }

    #[test]
    fn answers_and_failures() {
        let folder = folder();
        let helpers = CredentialHelpers::new(folder.path().into(), Duration::from_secs(20));
        let ask = |server: &str| helpers.get("test", server).map_err(|error| error.to_string());
        let known = HelperLogin::Password {
            username: "me".to_owned(),
            password: "hunter2".into(),
        };
        for _ in 0..2 {
            assert_eq!(ask("known.io"), Ok(Some(known.clone())));
        }
        assert_eq!(ask("token.io"), Ok(Some(HelperLogin::IdentityToken("hunter2".into()))));
        assert_eq!(ask("unknown.io"), Ok(None));
        for (server, expected) in [
            (
                "broken.io",
                "returned no login for broken.io: 1:27: .secret: not valid JSON",
            ),
            (
                "number.io",
                "returned no login for number.io: 1:30: .secret: must be a string",
            ),
            (
                "failing.io",
                "failed for failing.io (exit status: 3); to see why, run `echo failing.io | docker-credential-test get`",
            ),
            ("endless.io", "returned more than 262144 bytes for endless.io"),
            ("silent.io", "returned no login for silent.io: 1:1: the JSON is cut off"),
        ] {
            let expected = format!("the credential helper docker-credential-test {expected}");
            assert_eq!(ask(server), Err(expected), "{server}");
        }
        let log = fs::read_to_string(folder.path().join("docker-credential-test.log")).unwrap();
        assert_eq!(log.lines().filter(|line| *line == "get known.io").count(), 1);
    }

    #[test]
    fn nobody_is_waited_for_without_end() {
        let folder = folder();
        let helpers = CredentialHelpers::new(folder.path().into(), Duration::from_millis(300));
        let started = Instant::now();
        for server in ["hanging.io", "daemon.io"] {
            let error = helpers.get("test", server).unwrap_err();
            assert!(matches!(error, HelperError::Late { .. }), "{error}");
        }
        assert!(started.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn only_programs_of_the_search_path_are_run() {
        let helpers = CredentialHelpers::new("relative::.".into(), Duration::from_secs(1));
        for name in ["", "../../bin/sh", "a/b", "a b", "a\\b", "é"] {
            assert_eq!(
                helpers.get(name, "h.io"),
                Err(HelperError::Name { name: name.to_owned() }),
                "{name}"
            );
        }
        let error = helpers.get("absent", "h.io").unwrap_err().to_string();
        assert!(
            error.starts_with("the credential helper docker-credential-absent that"),
            "{error}"
        );
    }
}
