//! The keys of MCP servers whose tools belljar offers as its own.
//!
//! Static text alone; starts no process and opens no connection.

use super::checks::{HEADER, NAME, PATH, PLUGIN, PROGRAM, URL, VALUE, VARIABLE};
use super::keys::TOOLS;
use super::{Default, Key, Kind, Map, Section};

const SECOND: u64 = 1_000;

pub(super) static UPSTREAM: Map =
    Map { placeholder: "NAME", name: PLUGIN, value: Kind::Table(&ONE_SERVER), hidden: false };

static ONE_SERVER: Section = Section {
    about: "An MCP server: a child process that is spoken to over its standard streams \
            (`command`), or one that is spoken to over http (`url`). Each has one of the two. Its \
            tools are called `NAME.TOOL`. Nothing it says of them is proven.",
    example: "[upstream.tickets]\ncommand = \"tickets-mcp\"\nargs = [\"--read-only\"]\nenv = { \
              PATH = \"/usr/bin:/bin\", TICKETS_TOKEN = { secret = \"tickets\" } \
              }\n\n[upstream.tickets.tools.close]\ngate = { deny = true }\n\n[upstream.docs]\nurl = \
              \"https://docs.example/mcp\"\nheaders = { Authorization = { secret = \"docs\", prefix \
              = \"Bearer \" } }\n\n[secrets.tickets]\nfrom = \
              \"env:TICKETS_TOKEN\"\n\n[secrets.docs]\nfrom = \"file:docs-token\"\n",
    keys: &[
        Key {
            name: "command",
            kind: Kind::Text(PROGRAM),
            default: Default::Words("none: it is spoken to over http"),
            about: "The program. A bare name is looked for in belljar's own `PATH`.",
        },
        Key {
            name: "args",
            kind: Kind::List(&Kind::Text(VALUE)),
            default: Default::Toml("[]"),
            about: "Its arguments, as they stand. They are seen by whoever sees the process.",
        },
        Key {
            name: "dir",
            kind: Kind::Text(PATH),
            default: Default::Words("the folder of this file"),
            about: "The folder it begins in.",
        },
        Key {
            name: "env",
            kind: Kind::Map(&ENV),
            default: Default::Words("none"),
            about: "Its whole environment: a text, or `{ secret = \"NAME\" }`. It inherits nothing, \
                    not even `PATH`.",
        },
        Key {
            name: "url",
            kind: Kind::Text(URL),
            default: Default::Words("none: it is a child process"),
            about: "Where it is spoken to: `http://` or `https://`.",
        },
        Key {
            name: "headers",
            kind: Kind::Map(&HEADERS),
            default: Default::Words("none"),
            about: "Headers of each request, whose values are `secrets`.",
        },
        Key {
            name: "start_timeout",
            kind: Kind::Duration { min: SECOND, max: 600 * SECOND },
            default: Default::Toml("\"30s\""),
            about: "How long it may take to start and to list its tools.",
        },
        Key {
            name: "concurrency",
            kind: Kind::Count { min: 1, max: 256 },
            default: Default::Toml("16"),
            about: "Calls that it is given at once; others wait.",
        },
        Key {
            name: "limits",
            kind: Kind::Limits,
            default: Default::Words("every tool's"),
            about: "The limits of its calls. Of these, times and sizes of arguments and output bind \
                    it; what it uses itself, belljar can't limit.",
        },
        Key {
            name: "tools",
            kind: Kind::Map(&TOOLS),
            default: Default::Words("none"),
            about: "Settings of single tools, by their names within the server.",
        },
    ],
};

static ENV: Map = Map {
    placeholder: "VARIABLE",
    name: VARIABLE,
    value: Kind::Either(&[Kind::Text(VALUE), Kind::Table(&SECRET)]),
    hidden: true,
};

static SECRET: Section = Section {
    about: "",
    example: "",
    keys: &[Key {
        name: "secret",
        kind: Kind::Text(NAME),
        default: Default::Required,
        about: "The name of the secret that is its value, one of `secrets`.",
    }],
};

static HEADERS: Map =
    Map { placeholder: "HEADER", name: HEADER, value: Kind::Table(&HEADER_VALUE), hidden: true };

static HEADER_VALUE: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "secret",
            kind: Kind::Text(NAME),
            default: Default::Required,
            about: "The name of the secret that is its value, one of `secrets`.",
        },
        Key {
            name: "prefix",
            kind: Kind::Text(VALUE),
            default: Default::Toml("\"\""),
            about: "What stands before the secret, such as `Bearer `.",
        },
    ],
};
