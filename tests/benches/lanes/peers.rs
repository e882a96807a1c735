//! What else one might run a tool with: extism in a process of its own, and a new process for each
//! call.
//!
//! extism comes as a library, and what calls it is another workspace: `tests/benches/extism`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use super::bench::target;
use super::figures::Times;

/// extism, waiting for a line that says what to measure.
pub(crate) struct Extism {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Extism {
    /// Starts it.
    pub(crate) fn start() -> Self {
        let place = target().join("extism");
        let path = place.join("release/belljar-bench-extism");
        assert!(path.is_file(), "`{}` isn't built: make bench-extism", path.display());
        let mut command = Command::new(path);
        command.arg(place.join("library")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("extism starts");
        let to = child.stdin.take().expect("a stdin");
        let from = BufReader::new(child.stdout.take().expect("a stdout"));
        Self { child, to, from }
    }

    /// Has it make so many calls; `lane` is `fresh` or `reused`.
    pub(crate) fn times(&mut self, lane: &str, count: usize) -> Times {
        writeln!(self.to, "{lane} {count}").expect("extism reads");
        let mut line = String::new();
        self.from.read_line(&mut line).expect("extism answers");
        let nanos = line.split_whitespace().map(|it| it.parse().expect("nanoseconds"));
        let times: Vec<_> = nanos.map(Duration::from_nanos).collect();
        assert_eq!(times.len(), count, "extism ended");
        Times::new(times)
    }
}

impl Drop for Extism {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A process that does nothing, so many times, each from its start to its end.
pub(crate) fn processes(count: usize) -> Times {
    let mut command = Command::new("true");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let one = || {
        let began = Instant::now();
        let status = command.status().expect("`true` starts");
        let took = began.elapsed();
        assert!(status.success(), "{status}");
        took
    };
    Times::new(std::iter::repeat_with(one).take(count).collect())
}
