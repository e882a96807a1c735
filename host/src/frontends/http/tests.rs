//! Drives the API over a whole host whose tools run outside the sandbox: by its router, and by
//! sockets where what a connection does matters.

mod approvals;
mod audit;
mod background;
mod bodies;
mod calls;
mod doors;
mod events;
mod kit;
mod narrowing;
mod places;
mod sockets;
