//! The keys of secrets, callers, policy and approvals.
//!
//! Static text alone; what rules mean is the gate's to say.

use super::checks::{FROM, GLOB, HEADER, HOST, NAME, WORDS};
use super::{Default, Key, Kind, Map, Section};

const MINUTE: u64 = 60_000;
const LEVELS: Kind = Kind::Choice(&["READ_ONLY", "READ_WRITE", "SMART", "FULL"]);
const GLOBS: Kind = Kind::Either(&[Kind::Text(GLOB), Kind::List(&Kind::Text(GLOB))]);
const NO_CONDITION: Default = Default::Words("any");

pub(super) static SECRETS: Map =
    Map { placeholder: "NAME", name: NAME, value: Kind::Table(&ONE_SECRET), hidden: false };

static ONE_SECRET: Section = Section {
    about: "A secret's value is redacted in the audit log and in what people are shown. That it is \
            added to requests comes with a later version.",
    example: "[secrets.github]\nfrom = \"env:GITHUB_TOKEN\"\nheader = \"Authorization\"\nhosts = \
              [\"api.github.com\"]\nper = \"user\"\n",
    keys: &[
        Key {
            name: "from",
            kind: Kind::Text(FROM),
            default: Default::Required,
            about: "Where its value is: a variable of belljar's own environment, or a file.",
        },
        Key {
            name: "header",
            kind: Kind::Text(HEADER),
            default: Default::Words("none"),
            about: "The header that carries it. Without effect in this version.",
        },
        Key {
            name: "hosts",
            kind: Kind::List(&Kind::Text(HOST)),
            default: Default::Toml("[]"),
            about: "The hosts that it is for. Without effect in this version.",
        },
        Key {
            name: "per",
            kind: Kind::Choice(&["host", "user", "workspace", "caller"]),
            default: Default::Toml("\"host\""),
            about: "Whose it is: this whole host's, or each user's, workspace's or caller's own. \
                    Without effect in this version.",
        },
    ],
};

pub(super) static CALLERS: Map =
    Map { placeholder: "NAME", name: NAME, value: Kind::Table(&ONE_CALLER), hidden: false };

static ONE_CALLER: Section = Section {
    about: "A request may only narrow what stands here.",
    example: "[callers.ci]\nlevel = \"READ_WRITE\"\nworkspace = \"ci\"\ntools = [\"files.*\"]\n",
    keys: &[
        Key {
            name: "level",
            kind: LEVELS,
            default: Default::Words("`READ_ONLY`; for `cli` `FULL`, for `mcp` `READ_WRITE`"),
            about: "How far it is trusted.",
        },
        Key {
            name: "tools",
            kind: Kind::List(&Kind::Text(GLOB)),
            default: Default::Words("every tool"),
            about: "The tools it may call, as globs on their ids.",
        },
        Key {
            name: "workspace",
            kind: Kind::Text(NAME),
            default: Default::Words("none"),
            about: "Its workspace.",
        },
        Key {
            name: "user",
            kind: Kind::Text(NAME),
            default: Default::Words("none"),
            about: "The user it acts for.",
        },
        Key {
            name: "execution_user",
            kind: Kind::Text(NAME),
            default: Default::Words("none"),
            about: "The user whose rights tools run with.",
        },
    ],
};

pub(super) static POLICY: Section = Section {
    about: "",
    example: "",
    keys: &[
        Key {
            name: "enabled",
            kind: Kind::Bool,
            default: Default::Toml("true"),
            about: "Whether the gate is consulted at all. Off, every call of a caller's tools \
                    runs and nobody is asked.",
        },
        Key {
            name: "rules",
            kind: Kind::List(&Kind::Table(&RULE)),
            default: Default::Words("none"),
            about: "Rules. One that denies holds wherever it stands; of the others the first that \
                    matches does.",
        },
    ],
};

static RULE: Section = Section {
    about: "A rule matches a call that meets every condition it names, and names one at least. \
            Patterns are globs over the whole text: `*` is any text, also with `/` in it. A \
            pattern over a path knows no folders and no links: what a tool may reach is for \
            `grants` to say.",
    example: "[[policy.rules]]\naction = \"ask\"\ntool = \"files.write\"\nreason = \"it changes \
              files\"\n\n[[policy.rules]]\naction = \"deny\"\ntool = [\"files.*\", \
              \"search.*\"]\narguments = { path = \"*.env\" }\n",
    keys: &[
        Key {
            name: "action",
            kind: Kind::Choice(&["deny", "ask", "allow"]),
            default: Default::Required,
            about: "Refuses, asks a person, or lets through where nothing else denies or asks.",
        },
        Key {
            name: "name",
            kind: Kind::Text(NAME),
            default: Default::Words("its place in the list"),
            about: "What it is called in reasons.",
        },
        Key { name: "tool", kind: GLOBS, default: NO_CONDITION, about: "Patterns of tool ids." },
        Key {
            name: "caller",
            kind: GLOBS,
            default: NO_CONDITION,
            about: "Patterns of callers. A call without a caller never matches.",
        },
        Key {
            name: "workspace",
            kind: GLOBS,
            default: NO_CONDITION,
            about: "Patterns of workspaces. A call without a workspace never matches.",
        },
        Key {
            name: "level",
            kind: Kind::Either(&[LEVELS, Kind::List(&LEVELS)]),
            default: NO_CONDITION,
            about: "Callers' levels. A rule that denies or asks holds at each lower level too, one \
                    that allows at each higher one.",
        },
        Key {
            name: "effects",
            kind: Kind::Table(&EFFECTS),
            default: NO_CONDITION,
            about: "What is proven of the tool.",
        },
        Key {
            name: "source",
            kind: Kind::Choice(&["builtin", "plugin", "mcp"]),
            default: NO_CONDITION,
            about: "Where the tool comes from.",
        },
        Key {
            name: "arguments",
            kind: Kind::Map(&ARGUMENTS),
            default: NO_CONDITION,
            about: "Patterns by the names of arguments: over the text of a string, else over its \
                    canonical JSON. An absent argument never matches.",
        },
        Key {
            name: "reason",
            kind: Kind::Text(WORDS),
            default: Default::Words("none"),
            about: "Why, for people.",
        },
        Key {
            name: "yes",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "With `action = \"ask\"`: `--yes` may stand for a person.",
        },
    ],
};

static ARGUMENTS: Map = Map { placeholder: "ARGUMENT", name: NAME, value: GLOBS, hidden: false };

static EFFECTS: Section = Section {
    about: "`true` of a harmless effect and `false` of `destructive` match only where that is \
            proven; their opposites match wherever it isn't.",
    example: "[[policy.rules]]\naction = \"allow\"\neffects = { closed_world = true, \
              cannot_write_files = true }\n",
    keys: &[
        Key {
            name: "read_only",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "Changes nothing outside itself.",
        },
        Key {
            name: "cannot_write_files",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "Has no writable folder.",
        },
        Key {
            name: "closed_world",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "Reaches nothing outside its folders.",
        },
        Key {
            name: "deterministic",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "The same arguments always give the same answer.",
        },
        Key {
            name: "destructive",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "May destroy what is there.",
        },
        Key {
            name: "idempotent",
            kind: Kind::Bool,
            default: NO_CONDITION,
            about: "A second identical call changes nothing more.",
        },
    ],
};

pub(super) static APPROVALS: Section = Section {
    about: "",
    example: "[approvals]\nexpires = \"60m\"\ncli = \"queue\"\n",
    keys: &[
        Key {
            name: "expires",
            kind: Kind::Duration { min: 1000, max: 24 * 60 * MINUTE },
            default: Default::Toml("\"15m\""),
            about: "How long a request waits for an answer.",
        },
        Key {
            name: "hand_back",
            kind: Kind::Duration { min: 0, max: 10 * MINUTE },
            default: Default::Toml("\"20s\""),
            about: "How long a call waits before it answers `approval_pending`, where the caller \
                    can repeat it.",
        },
        Key {
            name: "cli",
            kind: Kind::Choice(&["prompt", "queue", "deny"]),
            default: Default::Toml("\"prompt\""),
            about: "On the command line: asks on the terminal, waits for `belljar approvals`, or \
                    refuses.",
        },
        Key {
            name: "mcp",
            kind: Kind::Choice(&["queue", "elicit", "client", "deny"]),
            default: Default::Toml("\"queue\""),
            about: "Over MCP: waits for somebody who answers elsewhere and then hands back; asks \
                    whoever sits at the client, where the client can; takes it that the client has \
                    asked already; or refuses.",
        },
        Key {
            name: "http",
            kind: Kind::Choice(&["queue", "deny"]),
            default: Default::Toml("\"queue\""),
            about: "Over http: waits for somebody who answers elsewhere and then hands back, or \
                    refuses.",
        },
        Key {
            name: "self_approval",
            kind: Kind::Bool,
            default: Default::Toml("false"),
            about: "Whether a caller may answer its own requests. Without effect on the command line: who \
                    answers there is the user of the machine, such as `uid 1000`, and never a caller.",
        },
    ],
};
