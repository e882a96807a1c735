//! The description names each route and nothing else.
