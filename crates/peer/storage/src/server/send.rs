//! Sending an answer, in the time that a client has for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::limits::Limits;
use super::reply::{Piece, Reply};

/// What is sent of a file at once, in bytes: between two of these the clock is looked at.
const CHUNK: u64 = 512 << 10;
/// What is read at once where the system cannot send files.
const BUFFER: usize = 64 << 10;

/// Sends a head and, unless only that was asked for, a body.
///
/// # Errors
/// Of the connection; `TimedOut` when the client was too slow; `UnexpectedEof` when the file became shorter.
pub(super) async fn send(
    stream: &mut TcpStream,
    head: Vec<u8>,
    reply: Reply,
    has_body: bool,
    limits: &Limits,
) -> io::Result<()> {
    let time = limits.time_for(reply.size());
    match timeout(time, send_all(stream, head, reply, has_body, limits)).await {
        Ok(sent) => sent,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn send_all(
    stream: &mut TcpStream,
    head: Vec<u8>,
    reply: Reply,
    has_body: bool,
    limits: &Limits,
) -> io::Result<()> {
    let Reply { body, mut file, .. } = reply;
    // Short texts go with what is before them.
    let mut text = head;
    for piece in body.into_iter().filter(|_| has_body) {
        match piece {
            Piece::Text(more) => text.extend(more),
            Piece::Cut { start, length } => {
                put(stream, &text, limits).await?;
                text.clear();
                let Some(whole) = file.take() else {
                    return Err(io::ErrorKind::NotFound.into());
                };
                file = Some(cut(stream, whole, start, length, limits).await?);
            }
        }
    }
    put(stream, &text, limits).await
}

async fn put(stream: &mut TcpStream, mut bytes: &[u8], limits: &Limits) -> io::Result<()> {
    while !bytes.is_empty() {
        let number = timeout(limits.stall_time, stream.write(bytes)).await??;
        bytes = bytes.get(number..).unwrap_or_default();
    }
    Ok(())
}

/// Sends bytes of a file, which is handed back.
async fn cut(stream: &mut TcpStream, file: File, start: u64, length: u64, limits: &Limits) -> io::Result<File> {
    let (mut offset, end) = (start, start + length);
    while offset < end {
        match timeout(
            limits.stall_time,
            pass(stream, &file, offset, (end - offset).min(CHUNK)),
        )
        .await?
        {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(number) => offset += number,
            Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
                return copy(stream, file, offset, end, limits).await;
            }
            Err(e) => return Err(e),
        }
    }
    Ok(file)
}

/// Lets the system send bytes of a file, without a copy of them here.
#[cfg(target_os = "linux")]
async fn pass(stream: &TcpStream, file: &File, offset: u64, length: u64) -> io::Result<u64> {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let sent = stream.async_io(Interest::WRITABLE, || {
        let mut at = offset;
        Ok(rustix::fs::sendfile(stream, file, Some(&mut at), length)?)
    });
    Ok(u64::try_from(sent.await?).unwrap_or_default())
}

#[cfg(not(target_os = "linux"))]
async fn pass(stream: &TcpStream, _: &File, _: u64, _: u64) -> io::Result<u64> {
    stream.ready(Interest::WRITABLE).await?;
    Err(io::ErrorKind::Unsupported.into())
}

/// The same by reading and writing, for file systems that the system cannot send from.
async fn copy(stream: &mut TcpStream, mut file: File, start: u64, end: u64, limits: &Limits) -> io::Result<File> {
    let mut bytes = vec![0; BUFFER];
    let mut offset = start;
    while offset < end {
        let read;
        (file, bytes, read) = spawn_blocking(move || {
            let read = file.read_at(&mut bytes, offset);
            (file, bytes, read)
        })
        .await
        .map_err(io::Error::other)?;
        let number = read?;
        let left = usize::try_from(end - offset).unwrap_or(usize::MAX);
        match bytes.get(..number.min(left)) {
            Some(some) if !some.is_empty() => put(stream, some, limits).await?,
            _ => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
        offset += u64::try_from(number).unwrap_or_default();
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn copies_where_the_system_cannot_send() {
        let contents: Vec<u8> = (0..200_000_u32).map(|number| (number % 251) as u8).collect();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&contents).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut server, _) = listener.accept().await.unwrap();
        let sending = tokio::spawn(async move {
            copy(&mut server, file, 10, 190_000, &Limits::default()).await.unwrap();
        });
        let mut got = Vec::new();
        client.read_to_end(&mut got).await.unwrap();
        sending.await.unwrap();
        assert!(got == contents[10..190_000]);
    }
}
