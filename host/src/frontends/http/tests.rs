//! Drives the router without sockets, over a whole host.
