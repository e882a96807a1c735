//! Bounds of background calls.
