//! Failures in a row, what begins them anew, and the bound on what is remembered.

use super::*;

const WINDOW: Duration = Duration::from_secs(60);

struct Caller {
    breaker: FailureBreaker,
    call: ToolInvocation,
    tool: ToolId,
    now: Instant,
}

impl Caller {
    fn new(after: u32) -> Self {
        let window_ms = u64::try_from(WINDOW.as_millis()).unwrap();
        Self {
            breaker: FailureBreaker::new(BreakerSettings { after, window_ms }),
            call: ToolInvocation::new("c".parse().unwrap(), "web.click", "{}"),
            tool: "web.click".parse().unwrap(),
            now: Instant::now(),
        }
    }

    fn ends(&self, times: usize, arguments: &str, outcome: Outcome) {
        for _ in 0..times {
            let arguments = Digest::of(arguments.as_bytes());
            self.breaker.note(&self.call, &self.tool, arguments, outcome, || self.now);
        }
    }

    fn refused(&self, arguments: &str) -> Option<String> {
        let arguments = Digest::of(arguments.as_bytes());
        self.breaker.refuses(&self.call, &self.tool, arguments, || self.now)
    }
}

#[test]
fn t15_the_same_failure_ten_times_in_a_row_refuses_the_next_identical_call() {
    let caller = Caller::new(10);
    caller.ends(9, "a", Outcome::ToolError);
    assert_eq!(caller.refused("a"), None);
    caller.ends(1, "a", Outcome::ToolError);
    let why = caller.refused("a").unwrap();
    assert!(why.contains("failed 10 times in a row as tool_error"), "{why}");
    assert!(why.contains("wait 60 s"), "{why}");
    assert_eq!(caller.refused("b"), None);
}

#[test]
fn t15_a_success_other_arguments_or_another_outcome_begin_anew() {
    for (arguments, outcome) in [
        ("a", Outcome::Success),
        ("b", Outcome::Success),
        ("b", Outcome::ToolError),
        ("a", Outcome::Crashed),
    ] {
        let caller = Caller::new(3);
        caller.ends(2, "a", Outcome::ToolError);
        caller.ends(1, arguments, outcome);
        caller.ends(2, "a", Outcome::ToolError);
        assert_eq!(caller.refused("a"), None, "{arguments} {outcome:?}");
        caller.ends(1, "a", Outcome::ToolError);
        assert!(caller.refused("a").is_some());
    }
}

#[test]
fn t15_only_failures_that_would_repeat_themselves_count() {
    let counted = [
        Outcome::InvalidArguments,
        Outcome::ToolError,
        Outcome::OutOfFuel,
        Outcome::OutOfMemory,
        Outcome::OutputTooLarge,
        Outcome::Crashed,
    ];
    for outcome in Outcome::ALL {
        let caller = Caller::new(3);
        caller.ends(300, "a", outcome);
        assert_eq!(caller.refused("a").is_some(), counted.contains(&outcome), "{outcome:?}");
        assert!(!outcome.is_retryable() || !counted.contains(&outcome));
    }
    let caller = Caller::new(3);
    caller.ends(2, "a", Outcome::ToolError);
    caller.ends(9, "a", Outcome::Overloaded);
    caller.ends(1, "a", Outcome::ToolError);
    assert!(caller.refused("a").is_some(), "what doesn't count doesn't begin anew either");
}

#[test]
fn t15_failures_outside_the_window_do_not_count() {
    let mut caller = Caller::new(3);
    caller.ends(1, "a", Outcome::ToolError);
    caller.now += WINDOW / 2;
    caller.ends(2, "a", Outcome::ToolError);
    assert!(caller.refused("a").unwrap().contains("wait 30 s"));
    caller.now += WINDOW / 2;
    assert_eq!(caller.refused("a"), None, "the first is a window old");
    caller.ends(1, "a", Outcome::ToolError);
    assert!(caller.refused("a").is_some(), "three within the window again");
}

#[test]
fn t15_callers_and_tools_do_not_feel_each_others_failures() {
    let mut caller = Caller::new(3);
    caller.ends(3, "a", Outcome::ToolError);
    let mut others = vec![caller.call.clone(); 5];
    others[0].caller = Some("x".to_owned());
    others[1].session_id = Some("x".to_owned());
    others[2].user_id = Some("x".to_owned());
    others[3].execution_user_id = Some("x".to_owned());
    others[4].workspace = Some("x".to_owned());
    let digest = Digest::of(b"a");
    for call in &others {
        assert_eq!(caller.breaker.refuses(call, &caller.tool, digest, || caller.now), None);
    }
    caller.tool = "web.type".parse().unwrap();
    assert_eq!(caller.refused("a"), None);
}

#[test]
fn nought_turns_the_breaker_off() {
    let caller = Caller::new(0);
    caller.ends(300, "a", Outcome::ToolError);
    assert_eq!(caller.refused("a"), None);
    assert!(caller.breaker.streaks().by_caller.is_empty());
}

#[test]
fn what_is_remembered_is_bounded_and_the_latest_stay() {
    let mut caller = Caller::new(2);
    for number in 0..STREAKS_MAX + 10 {
        caller.call.caller = Some(number.to_string());
        caller.ends(3, "a", Outcome::Crashed);
    }
    let streaks = caller.breaker.streaks();
    assert_eq!((streaks.by_caller.len(), streaks.by_age.len()), (STREAKS_MAX, STREAKS_MAX));
    assert!(streaks.by_caller.values().all(|it| it.times.len() == 2));
    drop(streaks);
    assert!(caller.refused("a").is_some());
    caller.call.caller = Some("0".to_owned());
    assert_eq!(caller.refused("a"), None, "failed longest ago");
}
