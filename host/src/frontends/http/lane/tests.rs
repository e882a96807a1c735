//! What a lane holds and what a watcher is told.
