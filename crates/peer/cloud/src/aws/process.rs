//! AWS credentials printed by a program, `credential_process` of a profile (SDKs and Tools Reference Guide,
//! *Process credential provider*).

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use zeroize::Zeroizing;

use super::container::Issued;
use super::credentials::{Aws, AwsCredentials};
use crate::CloudError;
use crate::invalid::{OUTPUT, ProcessError};
use crate::services::no_json;

/// The time limit of the program (SDK, `processcreds`).
const LIMIT: Duration = Duration::from_secs(60);

impl Aws<'_> {
    /// Runs the command in a shell, as the SDK does. Its output may be secret and is never shown; its stderr is
    /// inherited.
    pub(crate) fn credentials_of_process(&self, command: &str) -> Result<AwsCredentials, CloudError> {
        let failed = |cause: ProcessError| CloudError::invalid("credential_process of the AWS profile", cause);
        let output = run(command, LIMIT.min(self.deadline.left())).map_err(failed)?;
        let no_json = |error| failed(ProcessError::Json(no_json(&error)));
        let issued: Issued = serde_json::from_slice(&output).map_err(no_json)?;
        if issued.version != 1 {
            return Err(failed(ProcessError::Version(issued.version)));
        }
        issued.credentials().ok_or_else(|| failed(ProcessError::Keys))
    }
}

fn run(command: &str, limit: Duration) -> Result<Zeroizing<Vec<u8>>, ProcessError> {
    let (shell, flag) = if cfg!(windows) { ("cmd.exe", "/C") } else { ("sh", "-c") };
    let mut child = Command::new(shell)
        .args([flag, command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| ProcessError::Start(error.to_string()))?;
    let start = Instant::now();
    let output = output(&mut child, limit);
    if output.as_ref().is_ok_and(|output| output.len() <= OUTPUT) {
        while child.try_wait().is_ok_and(|ended| ended.is_none()) && start.elapsed() < limit {
            thread::sleep(Duration::from_millis(5));
        }
    }
    // It has exited, unless it exceeded a limit.
    let _ = child.kill();
    let status = child.wait().map_err(|error| ProcessError::Status(error.to_string()))?;
    let output = output?;
    match (output.len() <= OUTPUT, status.success()) {
        (true, true) => Ok(output),
        (true, false) => Err(ProcessError::Failed(status)),
        (false, _) => Err(ProcessError::TooMuch),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the output of a credential process; bound: 64 KiB; account: none, of the process' own machine"
)]
fn output(child: &mut Child, limit: Duration) -> Result<Zeroizing<Vec<u8>>, ProcessError> {
    let stdout = child.stdout.take().ok_or(ProcessError::NoOutput)?;
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Zeroizing::new(Vec::with_capacity(8 << 10));
        let read = stdout.take(OUTPUT as u64 + 1).read_to_end(&mut bytes);
        // The receiver is gone after the time limit.
        let _ = sender.send(
            read.map(|_| bytes)
                .map_err(|error| ProcessError::Read(error.to_string())),
        );
    });
    match receiver.recv_timeout(limit) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(ProcessError::Slow(limit)),
        Err(RecvTimeoutError::Disconnected) => Err(ProcessError::Lost),
    }
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bounded_in_time_and_size() {
        let within = |limit, command: &str| run(command, limit).map(|o| String::from_utf8(o.to_vec()).unwrap());
        let run = |command: &str| within(Duration::from_secs(60), command);
        assert_eq!(run("printf '%s' '{}'"), Ok("{}".to_owned()));
        let failed = |command: &str| run(command).unwrap_err().to_string();
        assert!(failed("echo hunter2; exit 3").contains("exit status: 3"));
        let start = Instant::now();
        let limit = Duration::from_millis(300);
        assert_eq!(within(limit, "sleep 600"), Err(ProcessError::Slow(limit)));
        assert!(failed("yes").contains("more than 65536 bytes"));
        assert!(start.elapsed() < Duration::from_secs(120));
    }
}
