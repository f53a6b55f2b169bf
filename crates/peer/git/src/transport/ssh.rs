//! SSH: the git programs of the server, with input and output over one channel.

use std::collections::VecDeque;
use std::future::Future;
use std::io::{self, BufRead, Cursor, Read};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use russh::client::{Handle, Msg};
use russh::{Channel, ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

use super::remote::Remote;
use super::remote_url::Location;
use super::ssh_session::{HostKeyCheck, Route};
use crate::{Connection, Protocol, Service, Transport, TransportError};
use bumpwright_http::{Deadline, server_text};
use bumpwright_text::Parts;

/// Bytes of the program's error output that are kept.
const ERROR_LIMIT: usize = 16 * 1024;
/// How long an unused connection is kept for the next program.
const IDLE: Duration = Duration::from_secs(15);

/// How git and the servers of GitHub, GitLab, Gitea, Bitbucket and Gerrit report a missing repository.
const MISSING: [&str; 6] = [
    "does not appear to be a git repository",
    "repository not found",
    "project not found",
    "could not be found",
    "cannot find repository",
    "repository does not exist",
];

/// How many connections of one remote are opened at the same time.
const HANDSHAKES: usize = 4;

/// A repository behind SSH. Its calls block: they must not be made on a thread that drives an async runtime.
pub(crate) struct SshTransport(Arc<Shared>);

struct Shared {
    url: String,
    route: Route,
    path: String,
    timeout: Duration,
    /// Authenticated connections without a channel.
    idle: Mutex<VecDeque<(Handle<HostKeyCheck>, Instant)>>,
    /// OpenSSH drops connections when many authenticate at the same moment (`MaxStartups`, 10).
    handshakes: Semaphore,
    /// None only while dropping.
    runtime: Option<Runtime>,
}

impl SshTransport {
    /// # Errors
    /// [`TransportError::Config`] for unusable keys or settings.
    pub(crate) fn new(remote: &Remote, host: &str, port: Option<u16>, path: &str) -> Result<Self, TransportError> {
        let url = remote.url.to_string();
        let route = Route::new(remote, host, port)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ssh")
            .enable_all()
            .build();
        let runtime = runtime.map_err(|e| TransportError::Connect {
            url: url.clone(),
            detail: format!("no thread could be started for SSH: {e}"),
        })?;
        let (idle, handshakes) = (Mutex::default(), Semaphore::new(HANDSHAKES));
        Ok(Self(Arc::new(Shared {
            url,
            route,
            path: path.to_owned(),
            timeout: remote.timeout,
            idle,
            handshakes,
            runtime: Some(runtime),
        })))
    }

    /// Starts a program, whose output is read by the connection.
    fn run(&self, command: String, protocol: Protocol) -> Result<SshConnection, TransportError> {
        let deadline = Deadline::after(self.0.timeout);
        let (session, channel) = self.0.block(deadline, self.0.start(command, protocol))??;
        let (read, write) = channel.split();
        let program = Program {
            shared: Arc::clone(&self.0),
            deadline,
            read,
            data: Cursor::default(),
            errors: Vec::new(),
            end: End::default(),
        };
        Ok(SshConnection {
            program,
            write,
            session: Some(session),
        })
    }
}

/// The output of a program at the server of a remote, `gerrit query` for example, up to `limit` bytes. The argument is
/// quoted for a shell. None for a remote that is not reached by SSH.
///
/// # Errors
/// The server cannot be reached, does not run the program, or the program fails; its output is longer.
#[expect(
    clippy::disallowed_methods,
    reason = "the output of a command at an SSH server; bound: 2 MiB of a Gerrit; account: none, one for each run"
)]
pub fn output_over_ssh(
    remote: &Remote,
    (program, argument): (&str, &str),
    limit: usize,
) -> Result<Option<Vec<u8>>, TransportError> {
    let Location::Ssh { host, port, path } = remote.url.location() else {
        return Ok(None);
    };
    let transport = SshTransport::new(remote, host, *port, path)?;
    let command = format!("{program} {}", quoted(argument));
    let mut connection = transport.run(command, Protocol::V0)?;
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let mut output = Vec::new();
    let read = Read::take(&mut connection.program, most).read_to_end(&mut output);
    read.map_err(|error| TransportError::from_stream(&transport.0.url, error))?;
    if output.len() > limit {
        return Err(transport
            .0
            .broken(&format!("the output of {program} has more than {limit} bytes")));
    }
    Box::new(connection).finish()?;
    Ok(Some(output))
}

impl Transport for SshTransport {
    fn timeout(&self) -> Duration {
        self.0.timeout
    }

    fn connect(&self, service: Service, protocol: Protocol) -> Result<Box<dyn Connection>, TransportError> {
        let command = format!("{} {}", service.name(), quoted(&self.0.path));
        Ok(Box::new(self.run(command, protocol)?))
    }
}

impl Shared {
    /// Runs a future on this thread, until the deadline.
    fn block<T>(&self, deadline: Deadline, future: impl Future<Output = T>) -> Result<T, TransportError> {
        let Some(runtime) = &self.runtime else {
            return Err(self.broken("the transport is closed"));
        };
        // The timer needs the runtime's context of `block_on`.
        let limited = async { tokio::time::timeout(deadline.left(), future).await };
        runtime
            .block_on(limited)
            .map_err(|_| TransportError::timeout(&self.url, deadline))
    }

    /// Starts the program in a channel, on a kept connection if one still works.
    async fn start(
        &self,
        command: String,
        protocol: Protocol,
    ) -> Result<(Handle<HostKeyCheck>, Channel<Msg>), TransportError> {
        let (session, channel) = match self.reuse().await {
            Some(both) => both,
            None => {
                let _turn = self
                    .handshakes
                    .acquire()
                    .await
                    .map_err(|e| self.broken(&e.to_string()))?;
                // Another may have finished during the wait.
                match self.reuse().await {
                    Some(both) => both,
                    None => self.open().await?,
                }
            }
        };
        let failed = |e: russh::Error| self.broken(&format!("the server did not run the program: {e}"));
        if protocol == Protocol::V2 {
            // Servers that reject the variable answer in version 0.
            channel
                .set_env(false, "GIT_PROTOCOL", "version=2")
                .await
                .map_err(failed)?;
        }
        channel.exec(true, command).await.map_err(failed)?;
        Ok((session, channel))
    }

    async fn open(&self) -> Result<(Handle<HostKeyCheck>, Channel<Msg>), TransportError> {
        let session = self.route.connect().await?;
        let channel = session.channel_open_session().await;
        Ok((
            session,
            channel.map_err(|e| self.broken(&format!("the server opened no channel: {e}")))?,
        ))
    }

    /// Opens a channel on a kept connection, if one still works.
    async fn reuse(&self) -> Option<(Handle<HostKeyCheck>, Channel<Msg>)> {
        let session = self.take_idle()?;
        let channel = session.channel_open_session().await.ok()?;
        Some((session, channel))
    }

    fn take_idle(&self) -> Option<Handle<HostKeyCheck>> {
        let mut idle = self.idle.lock();
        idle.retain(|(session, since)| since.elapsed() < IDLE && !session.is_closed());
        idle.pop_back().map(|(session, _)| session)
    }

    fn broken(&self, detail: &str) -> TransportError {
        TransportError::Connect {
            url: self.url.clone(),
            detail: detail.to_owned(),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Dropping it would wait, and would panic on an async thread.
            runtime.shutdown_background();
        }
    }
}

/// Quotes a path for the remote shell, as git does.
fn quoted(path: &str) -> String {
    format!("'{}'", path.replace('\'', "'\\''").replace('!', "'\\!'"))
}

/// How the program ended, as far as known.
#[derive(Default)]
struct End {
    /// Its output has ended.
    output: bool,
    /// The channel is closed: nothing more comes.
    closed: bool,
    status: Option<u32>,
    /// A signal, or a refused start.
    other: Option<String>,
}

struct Program {
    shared: Arc<Shared>,
    deadline: Deadline,
    read: ChannelReadHalf,
    data: Cursor<Vec<u8>>,
    errors: Vec<u8>,
    end: End,
}

impl Program {
    fn rest(&self) -> &[u8] {
        let from = usize::try_from(self.data.position()).unwrap_or(usize::MAX);
        self.data.get_ref().tail(from)
    }

    /// Waits for output, until there is some or the program has ended.
    fn advance(&mut self) -> Result<(), TransportError> {
        while self.rest().is_empty() && !self.end.closed {
            let shared = Arc::clone(&self.shared);
            let message = shared.block(self.deadline, self.read.wait())?;
            self.take(message);
        }
        Ok(())
    }

    fn take(&mut self, message: Option<ChannelMsg>) {
        match message {
            Some(ChannelMsg::Data { data }) => self.data = Cursor::new(data.into()),
            Some(ChannelMsg::ExtendedData { data, .. }) => {
                let room = ERROR_LIMIT.saturating_sub(self.errors.len());
                self.errors.extend(data.iter().take(room));
            }
            Some(ChannelMsg::Eof) => self.end.output = true,
            Some(ChannelMsg::ExitStatus { exit_status }) => self.end.status = Some(exit_status),
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                self.end.other = Some(format!("the program was ended by signal {signal_name:?}"));
            }
            Some(ChannelMsg::Failure) => self.end.other = Some("the server refused to run the program".to_owned()),
            Some(ChannelMsg::Close) | None => self.end.closed = true,
            Some(_) => {}
        }
    }

    /// Ok, or the program's own error output when it failed.
    fn verdict(&self) -> Result<(), TransportError> {
        let url = self.shared.url.clone();
        let words = server_text(&self.errors, ERROR_LIMIT);
        let detail = match (&self.end, words.is_empty()) {
            (End { status: Some(0), .. }, _) => return Ok(()),
            // Some servers never send the exit status.
            (
                End {
                    status: None,
                    other: None,
                    output: true,
                    ..
                },
                true,
            ) => return Ok(()),
            (_, false) => words,
            (End { other: Some(why), .. }, true) => why.clone(),
            (
                End {
                    status: Some(status), ..
                },
                true,
            ) => format!("the program ended with status {status}"),
            (End { status: None, .. }, true) => {
                return Err(self.shared.broken("the connection was closed by the server"));
            }
        };
        let lower = detail.to_ascii_lowercase();
        Err(if MISSING.iter().any(|text| lower.contains(text)) {
            TransportError::NotFound { url, detail }
        } else {
            TransportError::Remote { url, detail }
        })
    }
}

impl Read for Program {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(buffer)?;
        self.consume(n);
        Ok(n)
    }
}

impl BufRead for Program {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.advance().map_err(io::Error::other)?;
        if self.rest().is_empty() {
            self.verdict().map_err(io::Error::other)?;
        }
        Ok(self.rest())
    }

    fn consume(&mut self, n: usize) {
        self.data.consume(n);
    }
}

struct SshConnection {
    program: Program,
    write: ChannelWriteHalf<Msg>,
    session: Option<Handle<HostKeyCheck>>,
}

impl Connection for SshConnection {
    fn stateless(&self) -> bool {
        false
    }

    fn advertisement(&mut self) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        Ok(Box::new(&mut self.program))
    }

    fn request(&mut self, body: &[u8]) -> Result<Box<dyn BufRead + Send + '_>, TransportError> {
        // When the program exited early, its output or its error text says why.
        let _sent = self
            .program
            .shared
            .block(self.program.deadline, self.write.data(body))?;
        Ok(Box::new(&mut self.program))
    }

    fn finish(mut self: Box<Self>) -> Result<(), TransportError> {
        let shared = Arc::clone(&self.program.shared);
        // It may have ended already.
        let _sent = shared.block(self.program.deadline, self.write.eof())?;
        while !self.program.end.closed {
            self.program.data = Cursor::default();
            self.program.advance()?;
        }
        if let Some(session) = self.session.take().filter(|session| !session.is_closed()) {
            shared.idle.lock().push_back((session, Instant::now()));
        }
        self.program.verdict()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's; $(rm) `x` !"), r"'it'\''s; $(rm) `x` '\!''");
    }
}
