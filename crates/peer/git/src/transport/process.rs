//! Repositories on this machine: the real `git upload-pack` and `git receive-pack` as children.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::remote_url::RemoteUrl;
use crate::{Connection, Protocol, Service, Transport, TransportError};
use bumpwright_http::{Deadline, server_text};

/// Bytes of a child's error output that are kept.
const ERROR_LIMIT: usize = 16 * 1024;

/// Variables that git itself removes before it enters another repository (`git rev-parse
/// --local-env-vars`), and those that would change the language of the texts below.
const CLEANED: [&str; 20] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_CONFIG",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_COUNT",
    "GIT_OBJECT_DIRECTORY",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_GRAFT_FILE",
    "GIT_INDEX_FILE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_REPLACE_REF_BASE",
    "GIT_PREFIX",
    "GIT_SHALLOW_FILE",
    "GIT_COMMON_DIR",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_QUARANTINE_PATH",
    "GIT_PROTOCOL",
    "LANGUAGE",
];

/// A repository at a path.
pub(crate) struct ProcessTransport {
    url: String,
    path: PathBuf,
    timeout: Duration,
}

impl ProcessTransport {
    /// For the repository at `path`.
    pub(crate) fn new(url: &RemoteUrl, path: &Path, timeout: Duration) -> Self {
        Self {
            url: url.to_string(),
            path: path.to_owned(),
            timeout,
        }
    }

    fn command(&self, service: Service, protocol: Protocol) -> Command {
        let mut command = Command::new("git");
        for name in CLEANED {
            command.env_remove(name);
        }
        command.env("LC_ALL", "C");
        if protocol == Protocol::V2 {
            command.env("GIT_PROTOCOL", "version=2");
        }
        let program = service.name().trim_start_matches("git-");
        command
            .arg(program)
            .arg(&self.path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Transport for ProcessTransport {
    fn timeout(&self) -> Duration {
        self.timeout
    }

    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        // The program distinguishes a missing folder from one that is not a repository only in words.
        if !self.path.exists() {
            let detail = "there is no such file or folder".to_owned();
            return Err(TransportError::NotFound {
                url: self.url.clone(),
                detail,
            });
        }
        let mut child = self
            .command(service, protocol)
            .spawn()
            .map_err(|e| TransportError::Config {
                url: self.url.clone(),
                detail: match e.kind() {
                    io::ErrorKind::NotFound => "local repositories need the program `git`; install it".to_owned(),
                    _ => format!("`git` could not be started: {e}"),
                },
            })?;
        let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            let detail = format!("no pipes to `{}`", service.name());
            return Err(TransportError::Connect {
                url: self.url.clone(),
                detail,
            });
        };
        let deadline = Deadline::after(self.timeout);
        let program = Program::watch(child, errors, deadline, &self.url, &self.path);
        Ok(Box::new(ProcessConnection {
            input: Some(input),
            output: BufReader::with_capacity(64 * 1024, output),
            program,
        }))
    }
}

/// The child, the thread that reads its errors and the thread that kills it at the deadline.
struct Program {
    url: String,
    path: PathBuf,
    deadline: Deadline,
    child: Arc<Mutex<Child>>,
    errors: Arc<Mutex<Vec<u8>>>,
    errors_ended: Receiver<()>,
    /// The watchdog waits on the other end: dropping it ends the watchdog.
    _alive: Sender<()>,
}

impl Program {
    fn watch(child: Child, stderr: impl Read + Send + 'static, deadline: Deadline, url: &str, path: &Path) -> Self {
        let child = Arc::new(Mutex::new(child));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let (ended, errors_ended) = channel();
        let output = Arc::clone(&errors);
        thread::spawn(move || {
            keep_errors(stderr, &output);
            // The receiver may be gone.
            let _ = ended.send(());
        });
        let (alive, watch) = channel::<()>();
        let watched = Arc::clone(&child);
        thread::spawn(move || {
            if watch.recv_timeout(deadline.left()) == Err(RecvTimeoutError::Timeout) {
                kill(&watched);
            }
        });
        Self {
            url: url.to_owned(),
            path: path.to_owned(),
            deadline,
            child,
            errors,
            errors_ended,
            _alive: alive,
        }
    }

    /// Waits for the exit of a child whose output has ended.
    fn wait(&self) -> Result<ExitStatus, TransportError> {
        let mut pause = Duration::from_micros(200);
        loop {
            let status = self.child.lock().try_wait();
            match status {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if self.deadline.passed() => return Err(TransportError::timeout(&self.url, self.deadline)),
                Ok(None) => thread::sleep(pause),
                Err(e) => return Err(self.broken(&e)),
            }
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Ok when the child has succeeded, else its error output.
    fn verdict(&self) -> Result<(), TransportError> {
        let status = self.wait()?;
        if status.success() {
            return Ok(());
        }
        if self.deadline.passed() {
            return Err(TransportError::timeout(&self.url, self.deadline));
        }
        // A grandchild (a hook) may hold the pipe open: its output is not worth a wait.
        let _ = self.errors_ended.recv_timeout(Duration::from_millis(200));
        let text = server_text(&self.errors.lock(), ERROR_LIMIT);
        Err(self.explain(&text, status))
    }

    fn explain(&self, text: &str, status: ExitStatus) -> TransportError {
        let url = self.url.clone();
        if text.contains("dubious ownership") {
            let path = self.path.display();
            let detail = format!(
                "git refuses this repository because it belongs to another user; allow it with \
                 `git config --global --add safe.directory {path}` ({text})"
            );
            return TransportError::Config { url, detail };
        }
        if text.contains("does not appear to be a git repository") || text.contains("not a git repository") {
            return TransportError::NotFound {
                url,
                detail: text.to_owned(),
            };
        }
        let detail = if text.is_empty() {
            format!("git ended with {status}")
        } else {
            text.to_owned()
        };
        TransportError::Remote { url, detail }
    }

    fn broken(&self, error: &io::Error) -> TransportError {
        if self.deadline.passed() {
            return TransportError::timeout(&self.url, self.deadline);
        }
        TransportError::Connect {
            url: self.url.clone(),
            detail: format!("the pipe to git broke: {error}"),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        kill(&self.child);
    }
}

/// Kills the child if it still runs, and reaps it.
fn kill(child: &Mutex<Child>) {
    let mut child = child.lock();
    if !matches!(child.try_wait(), Ok(Some(_))) {
        // It may have exited in between, which is fine.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Reads to the end so that the child never blocks; keeps the first [`ERROR_LIMIT`] bytes.
fn keep_errors(mut stderr: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = stderr.read(&mut buffer) {
        let mut output = kept.lock();
        let room = ERROR_LIMIT.saturating_sub(output.len());
        output.extend(buffer.iter().take(n.min(room)));
    }
}

struct ProcessConnection {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    program: Program,
}

impl Connection for ProcessConnection {
    fn stateless(&self) -> bool {
        false
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        Ok(Box::new(Output {
            output: &mut self.output,
            program: &mut self.program,
        }))
    }

    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        if let Some(input) = self.input.as_mut() {
            match input.write_all(body).and_then(|()| input.flush()) {
                // The program exited early; its output or its error text says why.
                Err(e) if e.kind() == io::ErrorKind::BrokenPipe => self.input = None,
                Err(e) => return Err(self.program.broken(&e)),
                Ok(()) => {}
            }
        }
        Ok(Box::new(Output {
            output: &mut self.output,
            program: &mut self.program,
        }))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "what a program for Git prints after its answer; bound: the timeout; account: none, dropped as it is read"
    )]
    fn finish(mut self: Box<Self>) -> Result<(), TransportError> {
        self.input = None;
        // Unread output must not keep the child from exiting.
        io::copy(&mut self.output, &mut io::sink()).map_err(|e| self.program.broken(&e))?;
        self.program.verdict()
    }
}

/// The child's output; when it ends because the child failed, an error instead of a plain end.
struct Output<'a> {
    output: &'a mut BufReader<ChildStdout>,
    program: &'a mut Program,
}

impl Read for Output<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.output.read(buffer)?;
        if n == 0 && !buffer.is_empty() {
            self.program.verdict().map_err(io::Error::other)?;
        }
        Ok(n)
    }
}

impl BufRead for Output<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.output.fill_buf()?.is_empty() {
            self.program.verdict().map_err(io::Error::other)?;
        }
        // Returns the bytes that are buffered already.
        self.output.fill_buf()
    }

    fn consume(&mut self, n: usize) {
        self.output.consume(n);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    fn bare() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env_remove("GIT_DIR");
        assert!(
            git.args(["init", "-q", "--bare"])
                .arg(dir.path())
                .status()
                .unwrap()
                .success()
        );
        dir
    }

    fn transport(path: &Path, timeout: Duration) -> ProcessTransport {
        let url = RemoteUrl::parse(path.to_str().unwrap()).unwrap();
        ProcessTransport::new(&url, path, timeout)
    }

    #[test]
    fn speaks_version_2_and_ends_well() {
        let dir = bare();
        let transport = transport(dir.path(), Duration::from_secs(20));
        let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
        let mut head = [0; 14];
        connection.advertisement().unwrap().read_exact(&mut head).unwrap();
        assert_eq!(&head, b"000eversion 2\n");
        connection.request(b"0000").unwrap();
        connection.finish().unwrap();
    }

    #[test]
    fn a_folder_that_is_no_repository() {
        let dir = tempfile::tempdir().unwrap();
        let transport = transport(dir.path(), Duration::from_secs(20));
        let mut connection = transport.connect(Service::UploadPack, Protocol::V0).unwrap();
        let error = connection.advertisement().unwrap().fill_buf().unwrap_err();
        let error = TransportError::from_stream("x", error);
        assert!(matches!(error, TransportError::NotFound { .. }), "{error}");
        let Err(error) = super::tests::transport(&dir.path().join("none"), Duration::from_secs(9))
            .connect(Service::UploadPack, Protocol::V0)
        else {
            panic!("connected to nothing")
        };
        assert!(matches!(error, TransportError::NotFound { .. }), "{error}");
    }

    #[test]
    fn the_deadline_ends_the_child() {
        let dir = bare();
        let transport = transport(dir.path(), Duration::from_millis(300));
        let mut connection = transport.connect(Service::UploadPack, Protocol::V2).unwrap();
        let mut all = Vec::new();
        // Nothing is requested, so git waits for ever after its greeting.
        let error = connection.advertisement().unwrap().read_to_end(&mut all).unwrap_err();
        assert!(all.starts_with(b"000eversion 2\n"));
        let error = TransportError::from_stream("x", error);
        assert!(matches!(error, TransportError::Timeout { .. }), "{error}");
    }
}
