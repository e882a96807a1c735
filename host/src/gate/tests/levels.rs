//! The permission levels (A15) and the risk assessor (A16).

use std::sync::Arc;

use super::*;
use Answer::{Allow, Ask};

type Whim = fn() -> Result<Risk, AssessorError>;

#[derive(Debug)]
struct Fixed(Whim);

impl RiskAssessor for Fixed {
    fn assess(&self, _view: &GateView<'_>) -> Result<Risk, AssessorError> {
        (self.0)()
    }
}

fn assessed_by(assessor: Whim) -> Policy {
    policy("").with_assessor(Arc::new(Fixed(assessor)))
}

/// Kinds of tool with what READ_ONLY, READ_WRITE, SMART and FULL answer.
fn matrix() -> Vec<(&'static str, ToolDescriptor, [Answer; 4])> {
    let with = |mut tool: ToolDescriptor, change: fn(&mut ToolDescriptor)| {
        change(&mut tool);
        tool
    };
    let (reader, writer) = (proven_reader("a.b"), file_writer("a.b"));
    let network = network_writer("a.b");
    vec![
        ("proven read-only", reader.clone(), [Allow, Allow, Allow, Allow]),
        ("closed-world write in the sandbox", writer.clone(), [Ask, Allow, Allow, Allow]),
        (
            "the same, destructive by its author's word",
            with(writer.clone(), |it| it.effects.destructive = Effect::claimed(true)),
            [Ask, Allow, Ask, Allow],
        ),
        (
            "the same, harmless by its author's word",
            with(writer.clone(), |it| it.effects.destructive = Effect::claimed(false)),
            [Ask, Allow, Allow, Allow],
        ),
        ("network write", network.clone(), [Ask, Ask, Ask, Allow]),
        (
            "network, read-only by its tag and so held to GET and HEAD",
            with(network.clone(), |it| it.effects.read_only = Effect::claimed(true)),
            [Ask, Allow, Allow, Allow],
        ),
        (
            "closed world by its author's word",
            with(network, |it| it.effects.closed_world = Effect::claimed(true)),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "MCP by its source",
            with(reader.clone(), |it| it.source = ToolSource::Mcp),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "MCP by its name",
            with(reader.clone(), |it| it.wire_name = "mcp__x".to_owned()),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "without isolation, such as a shell",
            with(writer.clone(), |it| it.isolation = Isolation::None),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "in a process",
            with(writer, |it| it.isolation = Isolation::Process),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "without isolation and said to be proven",
            with(reader.clone(), |it| it.isolation = Isolation::None),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "without isolation and read-only by its word",
            with(reader.clone(), |it| {
                it.isolation = Isolation::None;
                it.effects.read_only = Effect::claimed(true);
            }),
            [Ask, Ask, Ask, Allow],
        ),
        (
            "proven read-only with @ask",
            with(reader, |it| it.requires_approval = true),
            [Ask, Ask, Ask, Allow],
        ),
    ]
}

#[test]
fn a15_every_level_answers_for_every_kind_of_tool() {
    let policy = policy("");
    for (kind, tool, expected) in matrix() {
        for (level, expected) in LEVELS.into_iter().zip(expected) {
            assert_eq!(decided(&policy, &tool, level), expected, "{kind} at {level:?}");
        }
    }
}

#[test]
fn a15_an_unknown_level_is_read_only() {
    let policy = policy("");
    for (kind, tool, [expected, ..]) in matrix() {
        for said in [None, Some("full"), Some("ROOT"), Some("")] {
            let level = PermissionLevel::parse_or_read_only(said);
            assert_eq!(decided(&policy, &tool, level), expected, "{kind} at {said:?}");
        }
    }
}

#[test]
fn a15_what_the_operator_wrote_holds_at_level_full() {
    let tool = proven_reader("a.b");
    for (toml, expected) in [
        ("[[rules]]\naction = 'ask'\ntool = 'a.b'", Ask),
        ("[[keys]]\ntool = 'a.b'\nrequire_approval = true", Ask),
        ("[[rules]]\naction = 'deny'\ntool = 'a.b'", Answer::Deny),
        ("[[keys]]\ntool = 'a.b'\ndeny = true", Answer::Deny),
    ] {
        assert_eq!(decided(&policy(toml), &tool, PermissionLevel::Full), expected, "{toml}");
    }
}

#[test]
fn a15_mcp_tools_ask_for_a_fixed_reason_and_no_assessor_is_heard() {
    let policy = assessed_by(|| Ok(Risk::Low));
    let tool = ToolDescriptor { source: ToolSource::Mcp, ..file_writer("a.b") };
    let call = call_at(PermissionLevel::Smart);
    let Decision::Ask(ask) = judge(&policy, &GateView::new(&tool, &call, None)) else {
        panic!("asks");
    };
    assert_eq!(ask.reason, "tools of an MCP server need an approval below level FULL");
}

#[test]
fn a16_an_assessor_that_fails_panics_or_is_late_asks() {
    let cases: [(Whim, &str); 4] = [
        (|| Err(AssessorError::Failed("no model".into())), "the risk assessor failed: no model"),
        (|| Err(AssessorError::TimedOut), "the risk assessor did not answer in time"),
        (|| panic!("a broken assessor"), "the risk assessor panicked"),
        (|| Ok(Risk::Flagged("looks odd".into())), "looks odd"),
    ];
    let (tool, call) = (file_writer("a.b"), call_at(PermissionLevel::Smart));
    for (assessor, expected) in cases {
        let decision = judge(&assessed_by(assessor), &GateView::new(&tool, &call, None));
        let reason = expected.to_owned();
        assert_eq!(
            decision,
            Decision::Ask(AskReason { reason, yes_allowed: false, question: false })
        );
    }
    let low = assessed_by(|| Ok(Risk::Low));
    assert_eq!(decided(&low, &tool, PermissionLevel::Smart), Allow);
}

#[test]
fn an_assessor_is_heard_at_smart_alone_and_never_of_what_is_proven_read_only() {
    let flags = assessed_by(|| Ok(Risk::Flagged("everything".into())));
    let (reader, writer) = (proven_reader("a.b"), file_writer("a.b"));
    for (level, expected) in LEVELS.into_iter().zip([Ask, Allow, Ask, Allow]) {
        assert_eq!(decided(&flags, &reader, level), Allow, "{level:?}");
        assert_eq!(decided(&flags, &writer, level), expected, "{level:?}");
    }
}

#[test]
fn a_long_reason_of_an_assessor_is_cut() {
    let policy = assessed_by(|| Ok(Risk::Flagged("é".repeat(1 << 16))));
    let (tool, call) = (file_writer("a.b"), call_at(PermissionLevel::Smart));
    let Decision::Ask(ask) = judge(&policy, &GateView::new(&tool, &call, None)) else {
        panic!("asks");
    };
    assert_eq!(ask.reason.len(), 500);
}

#[test]
fn the_default_assessor_says_why_it_flags() {
    let assess = |tool: &ToolDescriptor| {
        let call = call_at(PermissionLevel::Smart);
        EffectsAssessor.assess(&GateView::new(tool, &call, None)).unwrap()
    };
    let flagged = |why: &str| Risk::Flagged(why.to_owned());
    let unconfined = ToolDescriptor { isolation: Isolation::Process, ..proven_reader("a.b") };
    assert_eq!(assess(&unconfined), flagged("the tool runs outside the sandbox"));
    let network = flagged("the tool may change things beyond this machine");
    assert_eq!(assess(&network_writer("a.b")), network);
    let mut destructive = file_writer("a.b");
    destructive.effects.destructive = Effect::claimed(true);
    let author = flagged("the tool's author says that it may destroy what is there");
    assert_eq!(assess(&destructive), author);
    assert_eq!(assess(&proven_reader("a.b")), Risk::Low);
    assert_eq!(assess(&file_writer("a.b")), Risk::Low);
}
