//! The keys of `belljar serve`: who may speak to it, what it shows them, and how it ends.
//!
//! Static text alone; opens no socket and knows no protocol.

use super::checks::{ADDRESS, AUTHORITY, FROM, GLOB, NAME, ORIGIN, SHA256};
use super::{Default, Key, Kind, Map, Section};

const MINUTE: u64 = 60_000;

pub(super) static TOKENS: Map =
    Map { placeholder: "NAME", name: NAME, value: Kind::Table(&ONE_TOKEN), hidden: false };

static ONE_TOKEN: Section = Section {
    about: "A token is a secret that a client sends as `Authorization: Bearer …`. The name is who \
            answered, where it answers requests. `belljar token NAME` makes one and prints these \
            lines. Each has `sha256` or `from`, and not both.",
    example: "[tokens.laptop]\nsha256 = \
              \"0000000000000000000000000000000000000000000000000000000000000000\"\ncaller = \
              \"mcp\"\nroles = [\"caller\", \"approver\"]\n",
    keys: &[
        Key {
            name: "sha256",
            kind: Kind::Text(SHA256),
            default: Default::Words("none"),
            about: "The SHA-256 of the token, in hexadecimal digits.",
        },
        Key {
            name: "from",
            kind: Kind::Text(FROM),
            default: Default::Words("none"),
            about: "Where the token itself is: a variable of belljar's own environment, or a file.",
        },
        Key {
            name: "caller",
            kind: Kind::Text(NAME),
            default: Default::Words("none: it makes no call"),
            about: "The caller whose calls it makes, one of `callers`.",
        },
        Key {
            name: "roles",
            kind: Kind::List(&Kind::Choice(&["caller", "approver", "operator"])),
            default: Default::Toml("[\"caller\"]"),
            about: "Makes calls; answers requests; reads the events and the audit log of all callers.",
        },
        Key {
            name: "expose",
            kind: Kind::List(&Kind::Text(NAME)),
            default: Default::Words("what `serve` exposes"),
            about: "The sets of tools it sees, among those that `serve` exposes.",
        },
    ],
};

pub(super) static EXPOSE: Map =
    Map { placeholder: "NAME", name: NAME, value: Kind::Table(&ONE_SET), hidden: false };

static ONE_SET: Section = Section {
    about: "Models choose badly among fifty tools.",
    example: "[expose.claude]\ntools = [\"files.read\", \"files.list\", \"search.*\"]\n",
    keys: &[Key {
        name: "tools",
        kind: Kind::List(&Kind::Text(GLOB)),
        default: Default::Required,
        about: "The tools of the set, as globs on their ids.",
    }],
};

pub(super) static SERVE: Section = Section {
    about: "",
    example: "[serve]\nhttp = \"127.0.0.1:8808\"\nexpose = [\"files\", \"search\"]\ndrain = \
              \"30s\"\n",
    keys: &[
        Key {
            name: "http",
            kind: Kind::Text(ADDRESS),
            default: Default::Toml("\"127.0.0.1:8808\""),
            about: "The address and port that `serve --http` listens on where it names none.",
        },
        Key {
            name: "hosts",
            kind: Kind::List(&Kind::Text(AUTHORITY)),
            default: Default::Toml("[]"),
            about: "Names under which it may be asked, beside `localhost`, `127.0.0.1` and `[::1]` \
                    with its own port. A request under any other is refused.",
        },
        Key {
            name: "origins",
            kind: Kind::List(&Kind::Text(ORIGIN)),
            default: Default::Toml("[]"),
            about: "Origins of web pages that may speak to it, beside its own. A request from any \
                    other is refused.",
        },
        Key {
            name: "expose",
            kind: Kind::List(&Kind::Text(NAME)),
            default: Default::Words("every tool"),
            about: "The sets of tools that are shown and may be called, where `--expose` names \
                    none.",
        },
        Key {
            name: "anonymous",
            kind: Kind::Text(NAME),
            default: Default::Words("none: a request needs a token"),
            about: "The caller of requests over http that carry no token, one of `callers`. Only \
                    from this machine itself, and whatever runs on it may then call.",
        },
        Key {
            name: "drain",
            kind: Kind::Duration { min: 0, max: 15 * MINUTE },
            default: Default::Toml("\"10s\""),
            about: "How long calls may still run once it is told to end; then they are cancelled.",
        },
    ],
};
