//! Group commit: one thread that makes records survive a power cut, many at a time.
//!
//! Nobody else waits for the disk; those who asked are told through a channel.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::error::JournalError;
use super::lane_file::LaneFile;

type Waiter = (Arc<LaneFile>, oneshot::Sender<Result<(), JournalError>>);

/// The queue of those who wait. One place for each record that is being made durable.
#[derive(Debug, Default)]
pub(super) struct Syncer {
    queue: Mutex<Queue>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Waiter>,
    stopped: bool,
}

impl Syncer {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until what was written to `file` before survives a power cut.
    pub(super) async fn sync(&self, file: Arc<LaneFile>) -> Result<(), JournalError> {
        let (told, answer) = oneshot::channel();
        {
            let mut queue = self.queue();
            if queue.stopped {
                return Err(JournalError::Closed);
            }
            queue.waiting.push_back((file, told));
        }
        self.bell.notify_one();
        answer.await.unwrap_or(Err(JournalError::Closed))
    }

    /// Ends [`Self::run`] once all who wait have been answered.
    pub(super) fn stop(&self) {
        self.queue().stopped = true;
        self.bell.notify_one();
    }

    /// Serves until it is stopped.
    pub(super) fn run(&self) {
        loop {
            let mut queue = self.queue();
            while queue.waiting.is_empty() {
                if queue.stopped {
                    return;
                }
                queue = self.bell.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
            let batch = std::mem::take(&mut queue.waiting);
            drop(queue);
            answer(batch);
        }
    }
}

/// One sync for each file, however many wait for it.
fn answer(mut batch: VecDeque<Waiter>) {
    while let Some((file, told)) = batch.pop_front() {
        let (same, others): (VecDeque<_>, _) =
            batch.into_iter().partition(|(other, _)| Arc::ptr_eq(other, &file));
        batch = others;
        let all = same.into_iter().map(|(_, told)| told).chain([told]);
        let done = file.sync();
        for told in all {
            let answer = match &done {
                Ok(()) => Ok(()),
                Err(error) => Err(JournalError::Behind(error.to_string())),
            };
            // Whoever is gone doesn't need the answer.
            told.send(answer).ok();
        }
    }
}
