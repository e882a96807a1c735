//! Who is connected: places for clients, and their registrations.
//!
//! Runs nothing itself: each client is the runner of its own tools.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::mpsc;

use super::line::{Line, LineParts, QUEUE_MAX};
use super::offered::{ClientTool, Offering};
use crate::contract::approval::CallerContext;
use crate::contract::client::{ClientMessage, HostMessage, RefusedTool, Registration, TakenTool};
use crate::contract::escape::clipped_line;
use crate::contract::ids::{PluginName, ToolId};
use crate::contract::invocation::{PermissionLevel, ToolInvocation};
use crate::contract::limits::{LimitKind, Limits};
use crate::contract::sink::Progress;
use crate::engine::ports::{
    ClientConnection, ClientError, ClientGateway, Connected, LiveLevels, ToolRunner,
};
use crate::gate::narrow_level;
use crate::registry::NameError;
use crate::runners::{OutsideTools, Tools};

/// Clients that may be connected.
pub const CLIENTS_MAX: usize = 256;
/// Of those, clients of one caller.
pub const CLIENTS_MAX_OF_ONE: usize = 8;
/// Tools of one client.
pub const TOOLS_MAX: usize = 200;
/// Values in the schemas of one client's tools, references followed: what it costs to keep them.
const SCHEMA_VALUES_MAX: usize = 1 << 16;
/// How long a client has for a call where the operator says nothing, in milliseconds: a person may
/// sit before it.
const DEADLINE_MS: u64 = 900_000;
/// A client that changes its tools connects anew, so that no call meets half of a change.
const ONCE: ClientError = ClientError::Order("a client registers once");
/// Longest name that is repeated, in bytes.
const NAME_MAX_LEN: usize = 100;

/// What an operator says of clients' tools.
#[derive(Debug, Clone, Default)]
pub struct ClientSettings {
    /// The limits of their calls; a deadline that nobody set is 900 s.
    pub limits: Limits,
    /// Names that no client may take, beside those in use: of sources that aren't there yet.
    pub reserved: Vec<PluginName>,
}

/// The connected clients. Clones are the same ones.
#[derive(Clone)]
pub struct Clients(Arc<Shared>);

struct Shared {
    tools: Arc<Tools>,
    settings: ClientSettings,
    seats: Mutex<BTreeMap<Arc<str>, usize>>,
    /// Read on every call.
    lines: ArcSwap<Vec<Arc<Line>>>,
    dropped: Arc<AtomicU64>,
}

impl std::fmt::Debug for Clients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clients").field("lines", &self.0.lines.load().len()).finish_non_exhaustive()
    }
}

impl Clients {
    /// Takes in clients whose tools come and go in `tools`.
    pub fn new(tools: Arc<Tools>, mut settings: ClientSettings) -> Self {
        for kind in [LimitKind::AttemptDeadline, LimitKind::CallDeadline] {
            settings.limits.default_to(kind, DEADLINE_MS);
        }
        Self(Arc::new(Shared {
            tools,
            settings,
            seats: Mutex::default(),
            lines: ArcSwap::default(),
            dropped: Arc::default(),
        }))
    }

    /// Results and progress that came too late, or for a request that isn't the client's.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }
}

impl LiveLevels for Clients {
    fn level(&self, call: &ToolInvocation) -> PermissionLevel {
        let lines = self.0.lines.load();
        let set = lines.iter().filter_map(|line| line.level_for(call));
        set.fold(call.permission_level, |level, set| narrow_level(level, Some(set)))
    }
}

impl ClientGateway for Clients {
    fn connect(&self, caller: &CallerContext) -> Result<Connected, ClientError> {
        let owner: Arc<str> = caller.caller.as_deref().ok_or(ClientError::Nameless)?.into();
        let seat = Seat::take(&self.0, owner)?;
        let (out, outgoing) = mpsc::channel(QUEUE_MAX);
        let connection =
            Connection { seat, session: caller.session_id.clone(), out: Some(out), line: None };
        Ok(Connected { connection: Box::new(connection), outgoing })
    }
}

/// One of the places. Dropped, it is free.
struct Seat {
    shared: Arc<Shared>,
    owner: Arc<str>,
}

impl Seat {
    fn take(shared: &Arc<Shared>, owner: Arc<str>) -> Result<Self, ClientError> {
        let mut seats = shared.seats.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = seats.values().sum();
        let own = seats.get(&owner).copied().unwrap_or_default();
        if own >= CLIENTS_MAX_OF_ONE {
            return Err(ClientError::TooManyOfCaller(own));
        }
        if all >= CLIENTS_MAX {
            return Err(ClientError::TooMany(all));
        }
        seats.insert(Arc::clone(&owner), own + 1);
        drop(seats);
        Ok(Self { shared: Arc::clone(shared), owner })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut seats = self.shared.seats.lock().unwrap_or_else(PoisonError::into_inner);
        match seats.get_mut(&self.owner) {
            Some(taken) if *taken > 1 => *taken -= 1,
            _ => _ = seats.remove(&self.owner),
        }
    }
}

/// A client's place and, once it has registered, its line.
struct Connection {
    seat: Seat,
    session: Option<String>,
    /// Moves into the line, so that it ends with it.
    out: Option<mpsc::Sender<HostMessage>>,
    line: Option<Arc<Line>>,
}

impl ClientConnection for Connection {
    fn hear(&mut self, message: ClientMessage) -> Result<(), ClientError> {
        let Some(line) = &self.line else {
            return match message {
                ClientMessage::Register(registration) => self.register(registration),
                _ => Err(ClientError::Order("a client's first message is `register`")),
            };
        };
        match message {
            ClientMessage::Register(_) => return Err(ONCE),
            ClientMessage::Result(result) => line.result(result),
            ClientMessage::Progress { request_id, done, total, message } => {
                line.progress(&request_id, Progress { done, total, message });
            }
            ClientMessage::Level { permission_level } => line.set_level(permission_level),
        }
        Ok(())
    }

    fn is_registered(&self) -> bool {
        self.line.is_some()
    }
}

impl Connection {
    fn register(&mut self, registration: Registration) -> Result<(), ClientError> {
        let refused = |why: String| ClientError::Registration(why);
        let Registration { name, permission_level, tools } = registration;
        let client: PluginName = name.parse().map_err(|_error| {
            let shown = clipped_line(&name, NAME_MAX_LEN);
            refused(format!("`{shown}` can't name a client: expected letters, digits and hyphens"))
        })?;
        if tools.len() > TOOLS_MAX {
            let why = format!("{} tools are too many: at most {TOOLS_MAX} are taken", tools.len());
            return Err(refused(why));
        }
        let shared = Arc::clone(&self.seat.shared);
        let offering =
            Offering { client: &client, owner: &self.seat.owner, limits: &shared.settings.limits };
        let (tools, unfit) = sort(&offering, &tools);
        let Some(out) = self.out.take() else {
            return Err(ONCE);
        };
        let line = Arc::new(Line::new(LineParts {
            client: client.clone(),
            owner: Arc::clone(&self.seat.owner),
            session: self.session.take(),
            tools,
            level: permission_level,
            out,
            dropped: Arc::clone(&shared.dropped),
        }));
        put(&shared, &line, unfit).map_err(|error| refused(words_of(&error, &client)))?;
        self.line = Some(line);
        Ok(())
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(line) = self.line.take() else { return };
        let shared = &self.seat.shared;
        let runner = Arc::clone(&line) as Arc<dyn ToolRunner>;
        shared.tools.take_back(&line.client, &runner);
        shared.lines.rcu(|lines| {
            lines.iter().filter(|one| !Arc::ptr_eq(one, &line)).cloned().collect::<Vec<_>>()
        });
        line.close();
    }
}

/// The tools by id, and those that can't be taken. Of two that models could not tell apart the
/// first is taken.
fn sort(
    offering: &Offering<'_>,
    offered: &[serde_json::Value],
) -> (BTreeMap<ToolId, ClientTool>, Vec<RefusedTool>) {
    let (mut taken, mut refused, mut names) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    let mut room = SCHEMA_VALUES_MAX;
    for said in offered {
        let tool = match offering.tool(said) {
            Ok(tool) => tool,
            Err(unfit) => {
                refused.push(unfit);
                continue;
            }
        };
        let wire = tool.found.descriptor.wire_name.to_ascii_lowercase().replace('-', "_");
        let reason = if tool.values > room {
            "the client's tools have too many and too large schemas"
        } else if !names.insert(wire) {
            "another of the client's tools has this name, or one like it"
        } else {
            room -= tool.values;
            taken.insert(tool.found.descriptor.id.clone(), tool);
            continue;
        };
        let name = clipped_line(&tool.name, NAME_MAX_LEN);
        refused.push(RefusedTool { name, reason: reason.to_owned() });
    }
    (taken, refused)
}

/// Makes the tools known. No call is sent before the client has been told so.
fn put(shared: &Shared, line: &Arc<Line>, refused: Vec<RefusedTool>) -> Result<(), NameError> {
    let mut state = line.state();
    let runner = Arc::clone(line) as Arc<dyn ToolRunner>;
    let tools = line.tools.values().map(|tool| tool.found.clone()).collect();
    let outside = OutsideTools { tools, runner };
    shared.tools.put_new(&line.client, outside, &shared.settings.reserved)?;
    let taken = line.tools.iter().map(|(id, tool)| (id.clone(), tool.name.clone()));
    state.send(HostMessage::Registered {
        name: line.client.clone(),
        tools: taken.map(|(id, name)| TakenTool { name, id }).collect(),
        refused,
    });
    drop(state);
    shared.lines.rcu(|lines| {
        let mut lines = lines.as_ref().clone();
        lines.push(Arc::clone(line));
        lines
    });
    Ok(())
}

/// A client isn't told whose the name is that it can't have.
fn words_of(error: &NameError, client: &PluginName) -> String {
    match error {
        NameError::Reserved(_) => format!("the name `{client}` belongs to belljar, or looks so"),
        NameError::Taken(_) => format!("the name `{client}` is taken"),
        NameError::Confusable(..) => format!("the name `{client}` looks like one that is taken"),
        NameError::WireName(..) | NameError::KeptWire(..) | NameError::NoName(_) => {
            format!("a tool of `{client}` would have the name of another tool")
        }
    }
}
