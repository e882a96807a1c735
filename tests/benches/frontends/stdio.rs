//! MCP on the standard streams: one call at a time, 32 at once, and a long list of tools.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use serde_json::json;

use super::server::{self, Server};
use super::{Figure, percentile};

const WARM: usize = 500;
const CALLS: usize = 5000;
const PIPELINED: usize = 32;
const PIPELINED_CALLS: usize = 20_000;
const TOOLS: usize = 1000;
/// One plugin has at most 256.
const TOOLS_EACH: usize = 250;
const LISTINGS: usize = 50;

struct Client {
    _server: Server,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    line: String,
}

impl Client {
    fn new(mut server: Server) -> Self {
        let to = server.child.stdin.take().expect("a stdin");
        let from = BufReader::new(server.child.stdout.take().expect("a stdout"));
        let mut client = Self { _server: server, to, from, line: String::new() };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"}}});
        client.send(&hello.to_string());
        client.receive();
        client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn send(&mut self, line: &str) {
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.to.write_all(&bytes).expect("the server reads");
    }

    fn receive(&mut self) -> &str {
        self.line.clear();
        self.from.read_line(&mut self.line).expect("the server answers");
        &self.line
    }
}

fn call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"codec_hash","arguments":{{"algorithm":"crc32","text":"abc"}}}}}}"#
    )
}

pub(crate) fn calls() -> Vec<Figure> {
    let mut client = Client::new(server::stdio(&[]));
    let mut times = Vec::with_capacity(CALLS);
    for id in 1..=WARM + CALLS {
        let request = call(id);
        let began = Instant::now();
        client.send(&request);
        let answer = client.receive();
        if id > WARM {
            times.push(began.elapsed());
        }
        assert!(answer.contains("352441c2"), "{answer}");
    }
    times.sort();
    let rate = pipelined(&mut client);
    vec![
        ("stdio: round trip p50", percentile(&times, 0.5), "us"),
        ("stdio: round trip p99", percentile(&times, 0.99), "us"),
        ("stdio: pipelined 32 deep", rate, "calls/s"),
    ]
}

fn pipelined(client: &mut Client) -> f64 {
    let began = Instant::now();
    let mut sent = 0;
    for answered in 0..PIPELINED_CALLS {
        while sent < PIPELINED_CALLS && sent < answered + PIPELINED {
            // What fits is sent with one write, as a client that has much to say does.
            let upto = (answered + PIPELINED).min(PIPELINED_CALLS);
            let lines: Vec<_> = (sent..upto).map(|it| call(1_000_000 + it)).collect();
            client.send(&lines.join("\n"));
            sent = upto;
        }
        assert!(client.receive().contains("352441c2"));
    }
    #[expect(clippy::cast_precision_loss, reason = "thousands")]
    let calls = PIPELINED_CALLS as f64;
    calls / began.elapsed().as_secs_f64()
}

/// A component with this many tools, all the same.
fn many_tools(count: usize) -> Vec<u8> {
    let mut text = String::from(
        "(component (core module $m (func (export \"f\") (result i32) i32.const 7))\n\
         (core instance $i (instantiate $m))\n",
    );
    for number in 0..count {
        text.push_str(&format!(
            "(func (export \"tool-number{number}\") (result u32) (canon lift (core func $i \"f\")))\n"
        ));
    }
    text.push(')');
    wat::parse_str(&text).expect("component text")
}

pub(crate) fn listing() -> Vec<Figure> {
    let folder = tempfile::tempdir().expect("a folder");
    let wasm = many_tools(TOOLS_EACH);
    // Names that differ by more than a digit: those would look alike.
    let names = ["north", "south", "east", "west"];
    let plugins = names.map(|name| folder.path().join(format!("{name}.wasm")));
    plugins.iter().for_each(|plugin| std::fs::write(plugin, &wasm).expect("a plugin"));
    let mut client = Client::new(server::stdio(&plugins));
    let mut times: Vec<Duration> = Vec::with_capacity(LISTINGS);
    for round in 0..LISTINGS {
        let began = Instant::now();
        let listed = list_all(&mut client, round);
        times.push(began.elapsed());
        assert!(listed >= TOOLS, "{listed}");
    }
    times.sort();
    vec![("stdio: 1,000 tools listed, p50", percentile(&times, 0.5) / 1000.0, "ms")]
}

fn list_all(client: &mut Client, round: usize) -> usize {
    let (mut listed, mut cursor) = (0, None::<String>);
    loop {
        let params = cursor.as_ref().map_or_else(|| json!({}), |it| json!({"cursor": it}));
        let id = format!("list-{round}-{listed}");
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/list", "params": params});
        client.send(&request.to_string());
        // Read as text: to make values of it is the client's own time.
        let answer = client.receive();
        listed += answer.matches("\"inputSchema\":").count();
        match answer.split_once("\"nextCursor\":\"") {
            Some((_, rest)) => cursor = rest.split('"').next().map(str::to_owned),
            None => return listed,
        }
    }
}
