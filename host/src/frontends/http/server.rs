//! Accepts connections, holds each within its bounds of time, and ends them in good order.
//!
//! HTTP/1.1 alone. Knows no route.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connection::{ConnectionPlace, Strangers};
use super::doors::Peer;
use super::guarded::guarded;
use super::stream::{ClientStream, Requests};
use super::{HttpError, HttpFrontend};

/// Connections at once, beside those that are streams of events. More wait to be accepted.
pub(super) const CONNECTIONS_MAX: usize = 1_024;
/// How long the head of a request may take, and how long a connection may be idle before it.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a client may read nothing of what is being sent to it.
const STALL_TIME: Duration = Duration::from_secs(30);
/// How long a connection may be one on which nobody known has spoken: enough for a head over a slow
/// line. Who has a token has [`HEAD_TIME`] after it was seen.
const STRANGERS_TIME: Duration = Duration::from_secs(10);
/// How long no connection is accepted before a stranger's has to end for it.
const FULL_TIME: Duration = Duration::from_secs(1);
/// Bytes of a head, and of what is read ahead.
const BUFFER_LEN: usize = 64 << 10;
/// How long answers may still be written once calls are cancelled.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long is waited where no connection can be accepted: mostly until files are closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// One connection's way to the router.
struct Connection {
    router: TowerToHyperService<Router>,
    peer: SocketAddr,
    place: ConnectionPlace,
    requests: Requests,
}

impl Service<hyper::Request<Incoming>> for Connection {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let asked = self.requests.asked(request.version());
        let mut request = request.map(|body| asked.reading(Body::new(body)));
        request.extensions_mut().insert(Peer(self.peer));
        request.extensions_mut().insert(self.place.clone());
        let answer = self.router.call(request);
        Box::pin(async move {
            let answer = answer.await?;
            asked.answered(&answer);
            Ok(guarded(answer, asked))
        })
    }
}

/// When connections end.
#[derive(Clone)]
struct Ends {
    /// After the request that is being answered.
    closing: CancellationToken,
    /// Now.
    gone: CancellationToken,
}

impl HttpFrontend {
    /// Serves until `shutdown`. Then nothing new is accepted and streams of events end; calls may go
    /// on for `drain`, and are cancelled after it.
    ///
    /// # Errors
    /// A socket that can't be listened on.
    pub async fn run(
        &self,
        listener: TcpListener,
        router: Router,
        shutdown: CancellationToken,
        drain: Duration,
    ) -> Result<(), HttpError> {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        self.run_within(places, listener, router, shutdown, drain).await
    }

    /// The same with these places for connections.
    pub(super) async fn run_within(
        &self,
        places: Arc<Semaphore>,
        listener: TcpListener,
        router: Router,
        shutdown: CancellationToken,
        drain: Duration,
    ) -> Result<(), HttpError> {
        listener.local_addr().map_err(HttpError::Socket)?;
        let ends = Ends { closing: CancellationToken::new(), gone: CancellationToken::new() };
        let connections = TaskTracker::new();
        tokio::select! {
            () = accept(&listener, &places, &router, &connections, &ends) => {}
            () = shutdown.cancelled() => {}
        }
        drop(listener);
        self.0.closing.cancel();
        ends.closing.cancel();
        connections.close();
        let idle = async {
            connections.wait().await;
            self.0.background.idle().await;
        };
        let mut idle = pin!(idle);
        if within(drain, &mut idle).await {
            return Ok(());
        }
        self.0.stop.cancel();
        if !within(LAST_WORDS, &mut idle).await {
            ends.gone.cancel();
            within(LAST_WORDS, &mut idle).await;
        }
        Ok(())
    }
}

async fn within(time: Duration, done: &mut (impl Future<Output = ()> + Unpin)) -> bool {
    tokio::time::timeout(time, done).await.is_ok()
}

async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
    router: &Router,
    tasks: &TaskTracker,
    ends: &Ends,
) {
    let strangers = Strangers::default();
    loop {
        let Some(place) = place_of(places, &strangers).await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let stranger = strangers.enter();
                let out = stranger.out.clone();
                let place = ConnectionPlace::new(place, stranger);
                let router = TowerToHyperService::new(router.clone());
                let requests = Requests::default();
                let connection = Connection { router, peer, place, requests };
                tasks.spawn(serve(stream, connection, out, ends.clone()));
            }
            Err(error) => {
                tracing::warn!("a connection can't be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A place among all, for which a stranger has to go where none is free for a while. Nobody was
/// accepted meanwhile, so that each of them has had as long to say who it is.
async fn place_of(places: &Arc<Semaphore>, strangers: &Strangers) -> Option<OwnedSemaphorePermit> {
    loop {
        let free = Arc::clone(places).acquire_owned();
        match tokio::time::timeout(FULL_TIME, free).await {
            Ok(place) => return place.ok(),
            Err(_full) => strangers.oldest_goes(),
        }
    }
}

async fn serve(stream: TcpStream, connection: Connection, out: CancellationToken, ends: Ends) {
    if let Err(error) = prepare(&stream) {
        tracing::debug!("a connection can't be used: {error}");
        return;
    }
    let (place, requests) = (connection.place.clone(), connection.requests.clone());
    let mut stream = TimeoutStream::new(ClientStream::new(stream, requests));
    stream.set_write_timeout(Some(STALL_TIME));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(BUFFER_LEN)
        .serve_connection(TokioIo::new(Box::pin(stream)), connection)
        .with_upgrades();
    let mut served = pin!(served);
    let mut strangers_time = pin!(tokio::time::sleep(STRANGERS_TIME));
    let (mut is_closing, mut had_last_words) = (false, false);
    loop {
        tokio::select! {
            ended = served.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!("a connection ended early: {error}");
                }
                return;
            }
            () = ends.closing.cancelled(), if !is_closing => {
                is_closing = true;
                served.as_mut().graceful_shutdown();
            }
            () = strangers_time.as_mut(), if place.is_strangers() => {
                // It may have become one that is known while it was waited for.
                if !place.is_strangers() {
                    continue;
                }
                if had_last_words {
                    return;
                }
                (is_closing, had_last_words) = (true, true);
                strangers_time.as_mut().reset(Instant::now() + LAST_WORDS);
                served.as_mut().graceful_shutdown();
            }
            () = out.cancelled() => return,
            () = ends.gone.cancelled() => return,
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Answers are small, and each is written whole.
    stream.set_nodelay(true)
}
