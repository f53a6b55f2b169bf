//! Sessions of people who signed in with a token. They are in memory alone, end after eight hours, and keep the token
//! sealed with a key that only the cookie has: it is checked again while the session is used.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;
use zeroize::Zeroizing;

use bumpwright_secret::Secret;
use bumpwright_text::Parts;

/// How long a session lasts.
pub(crate) const LASTS: Duration = Duration::from_secs(8 * 3600);

/// The most sessions, and those of one person. The oldest ends when there are more.
const SESSIONS: usize = 512;
const OF_ONE: usize = 16;

/// Bytes of the id and of the key in a cookie.
const ID: usize = 16;
const KEY: usize = 32;

#[derive(Default)]
pub(crate) struct Sessions(Mutex<BTreeMap<[u8; 32], Session>>);

struct Session {
    /// The token, which only the key of the cookie opens.
    sealed: Vec<u8>,
    person: String,
    began: Instant,
}

/// What a cookie says: which session, and the key to its token.
pub(crate) struct Cookie(Zeroizing<Vec<u8>>);

impl Cookie {
    /// Reads the value of a cookie; none when it is not one of ours.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(text).ok()?);
        (bytes.len() == ID + KEY).then_some(Self(bytes))
    }

    /// The value of the cookie.
    pub(crate) fn text(&self) -> String {
        URL_SAFE_NO_PAD.encode(&*self.0)
    }

    /// What the session is kept by: who reads the memory cannot make the cookie of it.
    pub(crate) fn session(&self) -> [u8; 32] {
        Sha256::digest(&*self.0).into()
    }

    /// XOR with a keystream. Each key is random and used for one text.
    fn crypt(&self, text: &[u8]) -> Zeroizing<Vec<u8>> {
        let key = self.0.part(ID..);
        let blocks = text.chunks(32).zip(0_u64..);
        let crypted = blocks.flat_map(|(block, number)| {
            let stream = Sha256::new()
                .chain_update(key)
                .chain_update(number.to_be_bytes())
                .finalize();
            block
                .iter()
                .zip(stream)
                .map(|(byte, stream)| byte ^ stream)
                .collect::<Vec<u8>>()
        });
        Zeroizing::new(crypted.collect())
    }
}

impl Sessions {
    /// Begins a session; none when the system has no random bytes.
    pub(crate) fn begin(&self, person: &str, token: &Secret) -> Option<Cookie> {
        let mut random = Zeroizing::new(vec![0; ID + KEY]);
        getrandom::fill(&mut random).ok()?;
        let cookie = Cookie(random);
        let session = Session {
            sealed: cookie.crypt(token.expose().as_bytes()).to_vec(),
            person: person.to_owned(),
            began: Instant::now(),
        };
        let mut sessions = self.0.lock();
        sessions.retain(|_, session| session.began.elapsed() < LASTS);
        while sessions.values().filter(|one| one.person == person).count() >= OF_ONE {
            drop_oldest(&mut sessions, |one| one.person == person);
        }
        while sessions.len() >= SESSIONS {
            drop_oldest(&mut sessions, |_| true);
        }
        sessions.insert(cookie.session(), session);
        Some(cookie)
    }

    /// The token of a session that has not ended.
    pub(crate) fn token(&self, cookie: &Cookie) -> Option<Secret> {
        let sessions = self.0.lock();
        let session = sessions.get(&cookie.session());
        let session = session.filter(|session| session.began.elapsed() < LASTS)?;
        let token = cookie.crypt(&session.sealed);
        Some(Secret::new(std::str::from_utf8(&token).ok()?))
    }

    pub(crate) fn end(&self, session: &[u8; 32]) {
        self.0.lock().remove(session);
    }
}

fn drop_oldest(sessions: &mut BTreeMap<[u8; 32], Session>, which: impl Fn(&Session) -> bool) {
    let oldest = sessions
        .iter()
        .filter(|(_, one)| which(one))
        .min_by_key(|(_, one)| one.began);
    let oldest = oldest.map(|(id, _)| *id);
    oldest.and_then(|id| sessions.remove(&id));
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    fn begin(sessions: &Sessions, person: &str, token: &str) -> Cookie {
        sessions.begin(person, &Secret::new(token)).unwrap()
    }

    #[test]
    fn a_token_is_kept_sealed_and_opened_by_its_cookie_alone() {
        let sessions = Sessions::default();
        let token = "a.token.of.some.length.".repeat(9);
        let cookie = begin(&sessions, "ann", &token);
        let again = Cookie::read(&cookie.text()).unwrap();
        assert_eq!(sessions.token(&again), Some(Secret::new(token.as_str())));
        let sealed = sessions.0.lock().values().next().unwrap().sealed.clone();
        assert!(
            !sealed
                .windows(8)
                .any(|part| token.as_bytes().windows(8).any(|of| of == part))
        );
        let mut forged = cookie.0.to_vec();
        forged[ID] ^= 1;
        assert_eq!(sessions.token(&Cookie(Zeroizing::new(forged))), None);
        sessions.end(&cookie.session());
        assert_eq!(sessions.token(&again), None);
        for text in ["", "x", "%%%", &"A".repeat(100)] {
            assert!(Cookie::read(text).is_none(), "{text}");
        }
    }

    #[test]
    fn one_person_cannot_end_the_sessions_of_others() {
        let sessions = Sessions::default();
        let ann = begin(&sessions, "ann", "a");
        let first = begin(&sessions, "mallory", "m");
        for _ in 0..OF_ONE {
            begin(&sessions, "mallory", "m");
        }
        assert!(sessions.token(&ann).is_some() && sessions.token(&first).is_none());
        for person in 0..SESSIONS {
            begin(&sessions, &person.to_string(), "t");
        }
        assert_eq!(sessions.0.lock().len(), SESSIONS);
    }
}
