//! Accepts connections, holds each within its bounds of time, and ends them in good order.
//!
//! HTTP/1.1 alone. Knows no route.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::doors::Peer;
use super::{HttpError, HttpFrontend};

/// Connections at once, beside those that are streams of events. More wait to be accepted.
const CONNECTIONS_MAX: usize = 1_024;
/// How long the head of a request may take, and how long a connection may be idle before it.
const HEAD_TIME: Duration = Duration::from_secs(30);
/// How long a client may read nothing of what is being sent to it.
const STALL_TIME: Duration = Duration::from_secs(30);
/// Bytes of a head, and of what is read ahead.
const BUFFER_LEN: usize = 64 << 10;
/// How long answers may still be written once calls are cancelled.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How long is waited where no connection can be accepted: mostly until files are closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The place of a connection among all, which a stream of events gives back for one of its own.
#[derive(Debug, Clone)]
pub(super) struct ConnectionPlace(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl ConnectionPlace {
    pub(super) fn give_back(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// One connection's way to the router.
struct Connection {
    router: TowerToHyperService<Router>,
    peer: SocketAddr,
    place: ConnectionPlace,
}

impl Service<hyper::Request<Incoming>> for Connection {
    type Response = axum::response::Response;
    type Error = std::convert::Infallible;
    type Future = <TowerToHyperService<Router> as Service<hyper::Request<Incoming>>>::Future;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        request.extensions_mut().insert(Peer(self.peer));
        request.extensions_mut().insert(self.place.clone());
        self.router.call(request)
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
    loop {
        let Ok(place) = Arc::clone(places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, peer)) => {
                let place = ConnectionPlace(Arc::new(Mutex::new(Some(place))));
                let router = TowerToHyperService::new(router.clone());
                let connection = Connection { router, peer, place };
                tasks.spawn(serve(stream, connection, ends.clone()));
            }
            Err(error) => {
                tracing::warn!("a connection can't be accepted: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, connection: Connection, ends: Ends) {
    if let Err(error) = prepare(&stream) {
        tracing::debug!("a connection can't be used: {error}");
        return;
    }
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALL_TIME));
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(BUFFER_LEN)
        .serve_connection(TokioIo::new(Box::pin(stream)), connection)
        .with_upgrades();
    let mut served = pin!(served);
    let mut is_closing = false;
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
            () = ends.gone.cancelled() => return,
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    // Answers are small, and each is written whole.
    stream.set_nodelay(true)
}
