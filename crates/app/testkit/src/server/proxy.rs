//! A proxy that speaks HTTP CONNECT and SOCKS5, with or without a password.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;

/// A proxy that runs as long as the process, and records its targets.
pub struct Proxy {
    pub address: SocketAddr,
    targets: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// `login` is a user name and password.
    pub fn start(login: Option<(&str, &str)>) -> Self {
        Self::leading(login, &[])
    }

    /// Connects to other addresses for these `host:port`.
    pub fn leading(login: Option<(&str, &str)>, instead: &[(&str, SocketAddr)]) -> Self {
        let instead: Vec<(String, SocketAddr)> = instead.iter().map(|(from, to)| ((*from).to_owned(), *to)).collect();
        let instead = Arc::new(instead);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let targets = Arc::new(Mutex::new(Vec::new()));
        let login = login.map(|(user, password)| (user.to_owned(), password.to_owned()));
        let kept = Arc::clone(&targets);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (login, targets, instead) = (login.clone(), Arc::clone(&kept), Arc::clone(&instead));
                // A client that disconnects is not an error.
                thread::spawn(move || serve(stream, login.as_ref(), &targets, &instead).ok());
            }
        });
        Self { address, targets }
    }

    /// The same in TLS: traffic is decrypted and passed on to it. Runs as long as the process.
    pub fn in_tls(&self, tls: Arc<rustls::ServerConfig>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let (address, to) = (listener.local_addr().unwrap(), self.address);
        let serve = async move {
            let (listener, acceptor) = (
                tokio::net::TcpListener::from_std(listener).unwrap(),
                tokio_rustls::TlsAcceptor::from(tls),
            );
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let mut plain = tokio::net::TcpStream::connect(to).await?;
                    let mut secured = acceptor.accept(stream).await?;
                    tokio::io::copy_bidirectional(&mut secured, &mut plain).await
                });
            }
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        thread::spawn(move || runtime.block_on(serve));
        address
    }

    /// `host:port` of each accepted connection.
    pub fn targets(&self) -> Vec<String> {
        self.targets.lock().clone()
    }
}

type Login = (String, String);

fn serve(
    stream: TcpStream,
    login: Option<&Login>,
    targets: &Mutex<Vec<String>>,
    instead: &[(String, SocketAddr)],
) -> io::Result<()> {
    let mut first = [0];
    stream.peek(&mut first)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let target = if first == [5] {
        socks(&mut reader, &stream, login)?
    } else {
        connect(&mut reader, &stream, login)?
    };
    let Some(target) = target else { return Ok(()) };
    targets.lock().push(target.clone());
    let mut server = match instead.iter().find(|(from, _)| *from == target) {
        Some((_, address)) => TcpStream::connect(address)?,
        None => TcpStream::connect(target)?,
    };
    let (mut to_client, mut from_server) = (stream, server.try_clone()?);
    thread::spawn(move || {
        let done = io::copy(&mut from_server, &mut to_client);
        to_client.shutdown(std::net::Shutdown::Both).and(done)
    });
    io::copy(&mut reader, &mut server)?;
    server.shutdown(std::net::Shutdown::Write)
}

fn connect(reader: &mut impl BufRead, mut out: &TcpStream, login: Option<&Login>) -> io::Result<Option<String>> {
    let (mut line, mut authorized) = (String::new(), login.is_none());
    reader.read_line(&mut line)?;
    let target = line
        .strip_prefix("CONNECT ")
        .and_then(|rest| rest.split(' ').next())
        .map(str::to_owned);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.trim_end().split_once(": ") else {
            break;
        };
        let wanted = login.map(|(user, password)| format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))));
        authorized |= name.eq_ignore_ascii_case("proxy-authorization") && Some(value) == wanted.as_deref();
    }
    match target {
        Some(target) if authorized => {
            out.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            Ok(Some(target))
        }
        _ => out
            .write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            .map(|()| None),
    }
}

/// RFC 1928 and RFC 1929.
fn socks(reader: &mut impl Read, mut out: &TcpStream, login: Option<&Login>) -> io::Result<Option<String>> {
    let methods = {
        bytes(reader, 1)?;
        counted(reader)?
    };
    let method = if login.is_some() { 2 } else { 0 };
    if !methods.contains(&method) {
        return out.write_all(&[5, 0xff]).map(|()| None);
    }
    out.write_all(&[5, method])?;
    if let Some((user, password)) = login {
        bytes(reader, 1)?;
        let right = counted(reader)? == user.as_bytes();
        let right = counted(reader)? == password.as_bytes() && right;
        out.write_all(&[1, u8::from(!right)])?;
        if !right {
            return Ok(None);
        }
    }
    let head = bytes(reader, 4)?;
    let host = match head[3] {
        1 => {
            let a = bytes(reader, 4)?;
            format!("{}.{}.{}.{}", a[0], a[1], a[2], a[3])
        }
        _ => String::from_utf8(counted(reader)?).unwrap(),
    };
    let port = bytes(reader, 2)?;
    out.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0])?;
    Ok(Some(format!("{host}:{}", u16::from_be_bytes([port[0], port[1]]))))
}

fn bytes(reader: &mut impl Read, count: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; count];
    reader.read_exact(&mut bytes).map(|()| bytes)
}

fn counted(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let count = bytes(reader, 1)?[0];
    bytes(reader, usize::from(count))
}
