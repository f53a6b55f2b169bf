//! Connections whose reads end when the job of the thread is cancelled: a silent server would hold the thread until its deadline.

use std::time::{Duration, Instant};

use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectProxyConnector, ConnectionDetails, Connector, NextTimeout, RustlsConnector, SocksConnector,
    TcpConnector, Transport,
};

use super::Job;
use super::job::LOOK;

/// ureq's connector with interruptible connections.
pub(super) fn connector() -> impl Connector {
    ().chain(SocksConnector::default())
        .chain(ConnectProxyConnector::default())
        .chain(TcpConnector::default())
        .chain(Interruptible)
        .chain(RustlsConnector::default())
}

#[derive(Debug)]
struct Interruptible;

impl<In: Transport> Connector<In> for Interruptible {
    type Out = InterruptibleTransport<In>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<In>) -> Result<Option<Self::Out>, Error> {
        Ok(chained.map(InterruptibleTransport))
    }
}

/// A connection that checks for cancellation from time to time.
#[derive(Debug)]
struct InterruptibleTransport<T>(T);

impl<T: Transport> Transport for InterruptibleTransport<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.0.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.0.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let Some(job) = Job::current() else {
            return self.0.await_input(timeout);
        };
        let began = Instant::now();
        let limit: Duration = *timeout.after;
        loop {
            if job.is_cancelled() {
                return Err(Error::Timeout(timeout.reason));
            }
            let left = limit.saturating_sub(began.elapsed());
            let slice = NextTimeout {
                after: left.min(LOOK).into(),
                ..timeout
            };
            match self.0.await_input(slice) {
                Err(Error::Timeout(_)) if left > LOOK => {}
                other => return other,
            }
        }
    }

    fn is_open(&mut self) -> bool {
        self.0.is_open()
    }

    fn is_tls(&self) -> bool {
        self.0.is_tls()
    }
}
