//! Connections whose reads end when the job of the thread is cancelled, or when the server has been silent for too
//! long: it would hold the thread until its deadline.

use std::io;
use std::time::{Duration, Instant};

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector, SocksConnector,
    TcpConnector, Transport,
};

use super::Job;
use super::job::LOOK;

/// ureq's connector with interruptible connections, whose server is silent for no longer than `silence`.
pub(super) fn connector(silence: Option<Duration>) -> impl Connector {
    ().chain(SocksConnector::default())
        .chain(ConnectProxyConnector::default())
        .chain(TcpConnector::default())
        .chain(Interruptible { silence })
        .chain(RustlsConnector::default())
}

#[derive(Debug)]
struct Interruptible {
    silence: Option<Duration>,
}

impl<In: Transport> Connector<In> for Interruptible {
    type Out = InterruptibleTransport<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(|inner| InterruptibleTransport {
            inner,
            silence: self.silence,
        }))
    }
}

/// A connection that checks for cancellation and silence from time to time.
#[derive(Debug)]
struct InterruptibleTransport<T> {
    inner: T,
    silence: Option<Duration>,
}

impl<T: Transport> Transport for InterruptibleTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let job = Job::current();
        let began = Instant::now();
        let given: Duration = *timeout.after;
        let limit = self.silence.map_or(given, |silence| silence.min(given));
        loop {
            if job.as_ref().is_some_and(Job::is_cancelled) {
                return Err(Error::Timeout(timeout.reason));
            }
            let left = limit.saturating_sub(began.elapsed());
            let slice = NextTimeout {
                after: left.min(LOOK).into(),
                ..timeout
            };
            match self.inner.await_input(slice) {
                Err(Error::Timeout(_)) if left > LOOK => {}
                Err(Error::Timeout(_)) if limit < given => return Err(silent(limit)),
                other => return other,
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}

fn silent(limit: Duration) -> Error {
    Error::Io(io::Error::new(
        io::ErrorKind::TimedOut,
        format!("the server has sent nothing for {limit:?}"),
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use url::Url;

    use crate::{Client, Deadline, Peer, Request, RetryPolicy};

    use super::*;

    const SILENCE: Duration = Duration::from_millis(800);

    /// What a client gets of a server that sends these parts of an answer of ten bytes, with a pause before each,
    /// and then says nothing.
    fn got(parts: Vec<&'static str>, pause: Duration) -> io::Result<String> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let peer = Peer {
            silence: Some(SILENCE),
            ..Peer::default()
        };
        let answering = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 1024]).unwrap();
            for part in parts {
                thread::sleep(pause);
                stream.write_all(part.as_bytes()).unwrap();
            }
            // Until the client hangs up.
            let _ = stream.read(&mut [0; 1]);
        });
        let deadline = Deadline::after(Duration::from_secs(3600));
        let opened = Client::new(peer, RetryPolicy::default()).open(&Request::get(url), deadline);
        let mut text = String::new();
        let read = match opened {
            Ok(opened) => opened.body.unwrap().read_to_string(&mut text).map(|_| text),
            Err(error) => Err(io::Error::other(error)),
        };
        answering.join().unwrap();
        read
    }

    #[test]
    fn a_server_may_be_slow_and_not_silent() {
        const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n";
        let slow = [vec![HEAD], vec!["x"; 10]].concat();
        let text = got(slow, SILENCE / 5).unwrap();
        assert_eq!(text, "x".repeat(10), "twice as long as it may be silent");
        for parts in [vec![], vec![HEAD], vec![HEAD, "xxx"]] {
            let error = got(parts.clone(), Duration::ZERO).unwrap_err().to_string();
            assert!(
                error.ends_with("the server has sent nothing for 800ms"),
                "{parts:?}: {error}"
            );
        }
    }
}
