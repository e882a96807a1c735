//! Tells on stderr that calls wait for a person, while `belljar serve` runs.
//!
//! Answers nothing and holds up no call: what stderr doesn't take at once is counted and told later.

use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::Instant;

use crate::contract::escape::clipped_line;
use crate::frontends::cli::show::tell;
use crate::gate::approval::{ApprovalQueue, Notice};

/// Requests that are told one by one in a stretch of time; of others only how many there were.
const TOLD_MAX: u32 = 20;
/// That stretch.
const STRETCH: Duration = Duration::from_secs(60);
/// Longest name in a line, in bytes. A line must fit what a pipe takes at once, which is 4,096.
const NAME_MAX_LEN: usize = 200;
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Tells of requests, from now until this is dropped or aborted.
pub(super) fn tell_of_requests(queue: &ApprovalQueue) -> Telling {
    let (notices, elsewhere) = (queue.notices(), queue.is_seen_elsewhere());
    Telling(tokio::spawn(listen(notices, elsewhere, |line| {
        let takes = takes_a_line();
        if takes {
            tell(line);
        }
        takes
    })))
}

/// Ends with its owner.
#[derive(Debug)]
pub(super) struct Telling(tokio::task::JoinHandle<()>);

impl Drop for Telling {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Whether stderr takes a line without waiting: a client that never reads it must not stop its calls.
fn takes_a_line() -> bool {
    let stderr = std::io::stderr();
    let mut ready = [PollFd::new(&stderr, PollFlags::OUT)];
    poll(&mut ready, Some(&AT_ONCE)).is_ok_and(|count| count > 0)
}

/// Tells by `say`, which says whether the line was taken, until the queue is gone.
async fn listen(mut notices: Receiver<Notice>, elsewhere: bool, mut say: impl FnMut(&str) -> bool) {
    let (mut began, mut told, mut untold) = (Instant::now(), 0, 0_u64);
    loop {
        let heard = tokio::select! {
            heard = notices.recv() => Some(heard),
            () = tokio::time::sleep_until(began + STRETCH), if untold > 0 => None,
        };
        if began.elapsed() >= STRETCH {
            (began, told) = (Instant::now(), 0);
            if untold > 0 && say(&more(untold, elsewhere)) {
                untold = 0;
            }
        }
        match heard {
            Some(Ok(notice)) if told < TOLD_MAX && say(&line(&notice, elsewhere)) => told += 1,
            Some(Ok(_)) => untold += 1,
            Some(Err(RecvError::Lagged(missed))) => untold = untold.saturating_add(missed),
            Some(Err(RecvError::Closed)) => return,
            None => {}
        }
    }
}

fn line(notice: &Notice, elsewhere: bool) -> String {
    let Notice { id, tool, caller, question } = notice;
    let caller =
        caller.as_deref().map(|name| format!(" of `{}`", clipped_line(name, NAME_MAX_LEN)));
    let caller = caller.unwrap_or_default();
    let how = match (elsewhere, question) {
        // Nobody else on this machine sees a request that is in this process's memory alone.
        (false, _) => String::new(),
        (true, false) => {
            format!(": `belljar approvals approve {id}`, or `belljar approvals deny {id}`")
        }
        (true, true) => {
            format!(": `belljar approvals answer {id} TEXT`, or `belljar approvals deny {id}`")
        }
    };
    format!("note: request {id}, `{tool}`{caller}, waits for a person{how}")
}

fn more(untold: u64, elsewhere: bool) -> String {
    let how = if elsewhere { ": `belljar approvals list`" } else { "" };
    format!("note: {untold} more requests were made{how}")
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tokio::sync::broadcast::Sender;

    use super::*;
    use crate::contract::ids::ApprovalId;

    fn notice(caller: &str, question: bool) -> Notice {
        let (id, caller) = (ApprovalId::from_random([7; 12]), Some(caller.to_owned()));
        Notice { id, tool: "files.write".parse().unwrap(), caller, question }
    }

    /// Listens with an stderr that takes lines while `takes`, and the lines it took.
    fn listening(takes: &Arc<Mutex<bool>>) -> (Sender<Notice>, Arc<Mutex<Vec<String>>>) {
        let (sender, lines) = (Sender::new(64), Arc::<Mutex<Vec<String>>>::default());
        let (heard, takes, written) = (sender.subscribe(), Arc::clone(takes), Arc::clone(&lines));
        tokio::spawn(listen(heard, true, move |line| {
            let takes = *takes.lock().unwrap();
            if takes {
                written.lock().unwrap().push(line.to_owned());
            }
            takes
        }));
        (sender, lines)
    }

    fn taken(lines: &Mutex<Vec<String>>) -> Vec<String> {
        std::mem::take(&mut lines.lock().unwrap())
    }

    #[test]
    fn a_line_says_what_waits_whose_it_is_and_how_to_answer() {
        let id = ApprovalId::from_random([7; 12]);
        let deny = format!("or `belljar approvals deny {id}`");
        assert_eq!(
            line(&notice("bo\u{1b}t\nnote: x", false), true),
            format!(
                "note: request {id}, `files.write` of `bo<U+001B>t<U+000A>note: x`, waits for a \
                 person: `belljar approvals approve {id}`, {deny}"
            )
        );
        let question = line(&notice("bot", true), true);
        assert!(question.ends_with(&format!("`belljar approvals answer {id} TEXT`, {deny}")));
        let own = line(&Notice { caller: None, ..notice("", false) }, false);
        assert_eq!(own, format!("note: request {id}, `files.write`, waits for a person"));
        let long = line(&notice(&"x".repeat(100_000), false), true);
        assert!(long.len() < 1_000, "{}", long.len());
    }

    #[tokio::test(start_paused = true)]
    async fn so_many_are_told_in_a_minute_and_of_the_others_how_many() {
        let (sender, lines) = listening(&Arc::new(Mutex::new(true)));
        for _ in 0..TOLD_MAX + 5 {
            sender.send(notice("bot", false)).unwrap();
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(taken(&lines).len(), TOLD_MAX as usize);
        tokio::time::sleep(STRETCH).await;
        assert_eq!(taken(&lines), ["note: 5 more requests were made: `belljar approvals list`"]);
        tokio::time::sleep(STRETCH).await;
        sender.send(notice("bot", false)).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(taken(&lines).len(), 1, "the next minute has its own");
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_reads_or_was_missed_is_counted() {
        let takes = Arc::new(Mutex::new(false));
        let (sender, lines) = listening(&takes);
        sender.send(notice("bot", false)).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        for _ in 0..100 {
            sender.send(notice("bot", false)).unwrap();
        }
        tokio::time::sleep(STRETCH * 3).await;
        *takes.lock().unwrap() = true;
        tokio::time::sleep(STRETCH).await;
        assert_eq!(taken(&lines), ["note: 101 more requests were made: `belljar approvals list`"]);
    }
}
