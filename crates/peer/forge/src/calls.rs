//! Requests to the API of a forge, and its answers.

use std::time::Duration;

use serde::de::DeserializeOwned;

use super::ForgeError;
use super::dialect::Dialect;
use super::error::{place, refusal};
use super::login::Login;
use bumpwright_http::{Answer, Client, Deadline, Peer, Request, RetryPolicy, scrubbed, server_text};

/// The longest text of a server in an error, in characters.
const LONGEST_TEXT: usize = 300;

/// A client of an API. Its calls block.
#[derive(Debug)]
pub(super) struct Calls {
    pub(super) dialect: &'static Dialect,
    login: Login,
    client: Client,
    limit: Duration,
}

impl Calls {
    /// Creates the client with the connection settings `peer`. Nothing is connected yet.
    pub(super) fn new(dialect: &'static Dialect, login: Login, peer: Peer) -> Self {
        Self {
            dialect,
            login,
            limit: peer.timeout,
            client: Client::new(peer, RetryPolicy::default()),
        }
    }

    pub(super) fn peer(&self) -> &Peer {
        self.client.peer()
    }

    pub(super) fn send_json<T: DeserializeOwned>(
        &self,
        attempt: &str,
        request: Request,
    ) -> Result<(T, Answer), ForgeError> {
        let answer = self.send(attempt, request)?;
        if !answer.status.is_success() {
            return Err(self.refused(attempt, &answer));
        }
        Ok((self.read(attempt, &answer)?, answer))
    }

    pub(super) fn read<T: DeserializeOwned>(&self, attempt: &str, answer: &Answer) -> Result<T, ForgeError> {
        serde_json::from_slice(&answer.body).map_err(|error| ForgeError::Unreadable {
            attempt: attempt.to_owned(),
            url: place(&answer.url),
            detail: format!(
                "the answer is not as documented: {}",
                scrubbed(&error.to_string(), &self.login.secrets())
            ),
            kind: self.dialect.name,
        })
    }

    /// The error of an answer that is not a success.
    pub(super) fn refused(&self, attempt: &str, answer: &Answer) -> ForgeError {
        refusal(attempt, answer, &self.login, self.dialect)
    }

    /// A text of the server.
    pub(super) fn without_secrets(&self, text: &str) -> String {
        let text = scrubbed(text, &self.login.secrets());
        server_text(text.as_bytes(), LONGEST_TEXT)
    }

    pub(super) fn send(&self, attempt: &str, request: Request) -> Result<Answer, ForgeError> {
        let headers = self.dialect.headers.iter();
        let mut request = headers.fold(request, |request, (name, value)| request.header(name, *value));
        if let Some(header) = self.login.header(self.dialect) {
            request = request.authorization(header);
        }
        let answer = self.client.send(&request, Deadline::after(self.limit));
        answer.map_err(|source| ForgeError::Net {
            attempt: attempt.to_owned(),
            source,
        })
    }
}
