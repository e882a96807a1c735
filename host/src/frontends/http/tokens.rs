//! Who speaks: the name, the roles and the caller behind a token.
//!
//! Holds no token, only the SHA-256 of each, and says of a wrong one nothing but that it is wrong.

use std::sync::Arc;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;

use super::budget::BodyBudget;
use super::error::HttpError;
use super::hub::STREAMS_MAX;
use super::problem::Problem;
use super::server::CONNECTIONS_MAX;
use super::untaken::Untaken;
use crate::config::{Config, Role, TokenOrigin, TokenSettings};
use crate::contract::ids::Digest;
use crate::frontends::access::Access;
use crate::host::Host;

/// Requests of one token that are answered at once.
pub(super) const AT_ONCE: usize = 256;
/// Streams of events of one token that are open at once: half of all.
pub(super) const STREAMS_OF_ONE: usize = STREAMS_MAX / 2;
/// Connections of one token that are open at once, beside streams of events: half of all.
pub(super) const CONNECTIONS_OF_ONE: usize = CONNECTIONS_MAX / 2;
/// The name of whoever has no token.
const ANONYMOUS: &str = "anonymous";

/// One who speaks.
#[derive(Debug)]
pub(super) struct Speaker {
    /// The token's name: who answered, where it answers requests.
    pub(super) name: String,
    /// What it may do.
    pub(super) roles: Vec<Role>,
    /// Whom it calls for; always there with the role `Caller`.
    pub(super) access: Option<Arc<Access>>,
    /// Places for its requests, each until its answer is through.
    pub(super) places: Arc<Semaphore>,
    /// Places for its streams of events.
    pub(super) streams: Arc<Semaphore>,
    /// Places for its connections.
    pub(super) connections: Arc<Semaphore>,
    /// Room for the bodies of its requests.
    pub(super) bodies: Arc<Semaphore>,
    /// Its answers that are not through.
    pub(super) untaken: Untaken,
}

impl Speaker {
    pub(super) fn new(
        name: &str,
        roles: Vec<Role>,
        access: Option<Access>,
        budget: &BodyBudget,
    ) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            roles,
            access: access.map(Arc::new),
            places: Arc::new(Semaphore::new(AT_ONCE)),
            streams: Arc::new(Semaphore::new(STREAMS_OF_ONE)),
            connections: Arc::new(Semaphore::new(CONNECTIONS_OF_ONE)),
            bodies: budget.of_one(),
            untaken: Untaken::default(),
        })
    }

    /// Whether it has one of these roles.
    pub(super) fn is_any(&self, roles: &[Role]) -> bool {
        roles.iter().any(|role| self.roles.contains(role))
    }

    /// The caller whose calls it makes.
    pub(super) fn caller(&self) -> Option<&str> {
        self.access.as_deref()?.context().caller.as_deref()
    }

    /// Whom it calls for.
    pub(super) fn calls_for(&self) -> Result<&Arc<Access>, Problem> {
        let without = || Problem::forbidden("this token makes no calls");
        self.access.as_ref().filter(|_| self.is_any(&[Role::Caller])).ok_or_else(without)
    }
}

/// All who may speak.
#[derive(Debug)]
pub(super) struct Tokens {
    known: Vec<(Digest, Arc<Speaker>)>,
    anonymous: Option<Arc<Speaker>>,
}

impl Tokens {
    /// Reads every token, once. `expose` is what is shown of all tools.
    pub(super) fn read(
        config: &Config,
        host: &Host,
        expose: Option<&[String]>,
        budget: &BodyBudget,
    ) -> Result<Self, HttpError> {
        let access = |caller: &str, own: Option<&[String]>| {
            let mut access = Access::new(config, caller)?;
            for sets in [expose, own].into_iter().flatten() {
                access = access.exposing(config, host, sets)?;
            }
            Ok::<_, HttpError>(access)
        };
        let mut known: Vec<(Digest, Arc<Speaker>)> = Vec::new();
        for token in &config.tokens {
            let digest = digest(token)?;
            if let Some((_, same)) = known.iter().find(|(it, _)| *it == digest) {
                return Err(HttpError::SameToken(same.name.clone(), token.name.clone()));
            }
            let calls_for = token.caller.as_deref();
            let access = calls_for.map(|it| access(it, token.expose.as_deref())).transpose()?;
            let speaker = Speaker::new(&token.name, token.roles.clone(), access, budget);
            known.push((digest, speaker));
        }
        let anonymous = config.serve.anonymous.as_deref().map(|caller| access(caller, None));
        let anonymous = anonymous.transpose()?;
        let anonymous = anonymous
            .map(|access| Speaker::new(ANONYMOUS, vec![Role::Caller], Some(access), budget));
        Ok(Self { known, anonymous })
    }

    /// All of them.
    pub(super) fn speakers(&self) -> impl Iterator<Item = &Arc<Speaker>> {
        self.known.iter().map(|(_, speaker)| speaker).chain(&self.anonymous)
    }

    /// The callers for whom somebody can speak.
    pub(super) fn callers(&self) -> impl Iterator<Item = &str> {
        self.speakers().filter_map(|speaker| speaker.caller())
    }

    /// Who speaks, by the headers of the request.
    pub(super) fn speaker(
        &self,
        headers: &HeaderMap,
        from_loopback: bool,
    ) -> Result<Arc<Speaker>, Problem> {
        let mut said = headers.get_all(AUTHORIZATION).iter();
        let Some(first) = said.next() else {
            let anonymous = self.anonymous.as_ref().filter(|_| from_loopback);
            return anonymous
                .cloned()
                .ok_or_else(|| unauthorized("a token is needed: `Authorization: Bearer TOKEN`"));
        };
        let token = bearer(first.as_bytes()).filter(|_| said.next().is_none());
        let token = token
            .ok_or_else(|| unauthorized("the header `Authorization` is not one `Bearer TOKEN`"))?;
        let digest = Digest::of(token);
        // All are looked at, so that the time says nothing of which are there.
        let mut found = None;
        for (known, speaker) in &self.known {
            if bool::from(known.as_bytes().ct_eq(digest.as_bytes())) {
                found = Some(speaker);
            }
        }
        found.cloned().ok_or_else(|| unauthorized("the token is none that is known here"))
    }
}

fn unauthorized(detail: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, detail)
}

fn bearer(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(7)?;
    let token = token.trim_ascii();
    (scheme.eq_ignore_ascii_case(b"bearer ") && !token.is_empty()).then_some(token)
}

fn digest(token: &TokenSettings) -> Result<Digest, HttpError> {
    match &token.origin {
        TokenOrigin::Sha256(digest) => Ok(*digest),
        TokenOrigin::From(origin) => {
            let variable = |name: &str| std::env::var_os(name)?.into_string().ok();
            let value = origin.read(variable);
            let value =
                value.map_err(|reason| HttpError::Token { name: token.name.clone(), reason })?;
            Ok(Digest::of(value.trim_ascii().as_bytes()))
        }
    }
}
