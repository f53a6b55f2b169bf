//! Listen addresses in the syntax of Go's `net.Listen`: `:8080`, `127.0.0.1:0`, `[::1]:8080`, `localhost:8080`.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The value of `--metrics-addr` or `--health-addr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// `0` or empty: no server.
    Off,
    /// A host, empty for all addresses of the machine, and a port, 0 for any free one.
    At {
        /// A name or an address, without brackets.
        host: String,
        port: u16,
    },
}

/// An address is not valid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cannot listen on {address:?}: {detail}; write HOST:PORT, :PORT for all addresses, or 0 for no server")]
pub struct ListenAddressError {
    address: String,
    detail: &'static str,
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    /// As Go's `SplitHostPort`, with port numbers; names of services, such as `:http`, are not supported.
    fn from_str(address: &str) -> Result<Self, ListenAddressError> {
        let refused = |detail| ListenAddressError {
            address: address.to_owned(),
            detail,
        };
        if address.is_empty() || address == "0" {
            return Ok(Self::Off);
        }
        let (host, port) = address.rsplit_once(':').ok_or_else(|| refused("there is no port"))?;
        let host = match host.strip_prefix('[') {
            Some(rest) => rest
                .strip_suffix(']')
                .ok_or_else(|| refused("a bracket is not closed"))?,
            None if host.contains([':', ']']) => return Err(refused("an IPv6 address has to be in brackets")),
            None => host,
        };
        let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        match port.parse() {
            Ok(port) if digits => Ok(Self::At {
                host: host.to_owned(),
                port,
            }),
            _ => Err(refused("the port is not a number from 0 to 65535")),
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("0"),
            Self::At { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::At { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_go_reads() {
        let at = |host: &str, port| {
            Ok(ListenAddress::At {
                host: host.to_owned(),
                port,
            })
        };
        for (text, expected) in [
            (":8080", at("", 8080)),
            ("127.0.0.1:0", at("127.0.0.1", 0)),
            ("[::1]:9440", at("::1", 9440)),
            ("localhost:80", at("localhost", 80)),
            ("0", Ok(ListenAddress::Off)),
            ("", Ok(ListenAddress::Off)),
            ("8080", Err("there is no port")),
            ("::1", Err("an IPv6 address has to be in brackets")),
            ("[::1:80", Err("a bracket is not closed")),
            (":", Err("the port is not a number from 0 to 65535")),
            (":+1", Err("the port is not a number from 0 to 65535")),
            (":65536", Err("the port is not a number from 0 to 65535")),
            (":http", Err("the port is not a number from 0 to 65535")),
        ] {
            let read = text.parse::<ListenAddress>();
            if let Ok(address @ ListenAddress::At { .. }) = &read {
                assert_eq!(address.to_string(), text);
            }
            assert_eq!(read.map_err(|error| error.detail), expected, "{text}");
        }
    }
}
