//! The http API: calls on kept connections, and what idle watchers of events cost them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::server::{self, TOKEN};
use super::{Figure, percentile};

const CONNECTIONS: usize = 8;
const CALLS_EACH: usize = 4000;
const WATCHERS: usize = 2000;
const WATCHED_CALLS: usize = 4000;
const BODY: &str = r#"{"tool":"codec.hash","arguments":{"algorithm":"crc32","text":"abc"}}"#;

fn request(address: &str) -> Vec<u8> {
    format!(
        "POST /v1/calls HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        BODY.len()
    )
    .into_bytes()
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    fn new(address: &str) -> Self {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("no delay");
        Self { stream, buffer: vec![0; 64 * 1024] }
    }

    /// Sends a request and reads its whole answer, whose body has a length.
    fn ask(&mut self, request: &[u8]) {
        self.stream.write_all(request).expect("the server reads");
        let mut have = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[have..]).expect("the server answers");
            assert!(read > 0, "the server closed: {}", self.text(have));
            have += read;
            let text = self.text(have);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                assert!(body.contains("352441c2"), "{text}");
                return;
            }
        }
    }

    fn text(&self, have: usize) -> String {
        String::from_utf8_lossy(&self.buffer[..have]).into_owned()
    }
}

pub(crate) fn calls() -> Vec<Figure> {
    let (_server, address) = server::http();
    let warm = request(&address);
    let mut connections: Vec<_> = (0..CONNECTIONS).map(|_| Connection::new(&address)).collect();
    connections.iter_mut().for_each(|it| (0..100).for_each(|_| it.ask(&warm)));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for connection in &mut connections {
            scope.spawn(|| (0..CALLS_EACH).for_each(|_| connection.ask(&warm)));
        }
    });
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let calls = (CONNECTIONS * CALLS_EACH) as f64;
    let rate = calls / began.elapsed().as_secs_f64();
    let mut times = times(&mut connections[0], &warm);
    times.sort();
    vec![
        ("http: 8 kept connections", rate, "calls/s"),
        ("http: one connection, p50", percentile(&times, 0.5), "us"),
    ]
}

fn times(connection: &mut Connection, request: &[u8]) -> Vec<Duration> {
    let mut times = Vec::with_capacity(WATCHED_CALLS);
    for _ in 0..WATCHED_CALLS {
        let began = Instant::now();
        connection.ask(request);
        times.push(began.elapsed());
    }
    times
}

/// Watchers of events that concern nobody: another caller's calls are not theirs to see, so that
/// they idle while calls run.
pub(crate) fn watchers() -> Vec<Figure> {
    let (_server, address) = server::http();
    let asked = request(&address);
    let mut connection = Connection::new(&address);
    (0..200).for_each(|_| connection.ask(&asked));
    let mut without = times(&mut connection, &asked);
    let watch = format!("GET /v1/events HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let watchers: Vec<_> = (0..WATCHERS)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).expect("the server listens");
            stream.write_all(watch.as_bytes()).expect("the server reads");
            stream
        })
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let mut with = times(&mut connection, &asked);
    drop(watchers);
    without.sort();
    with.sort();
    vec![
        ("http: p99 without a watcher", percentile(&without, 0.99), "us"),
        ("http: p99 with 2,000 watchers", percentile(&with, 0.99), "us"),
    ]
}
