//! Guests that are sampled, and what is kept and written of them.

use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::names::NAME_MAX_LEN;
use super::*;
use crate::contract::attempt::{Attempt, AttemptEnd, End, GuestFault};
use crate::contract::limits::LimitKind;
use crate::sandbox::codec::Words;
use crate::sandbox::store::nobodys;
use crate::sandbox::{Access, CompileIn, Entry, Sandbox, SandboxSettings, SandboxedTool};

/// 1970-01-01 and a day.
const NOW: u64 = 86_400_000;
/// Rust's name of `hello::work::inner` under its older scheme, as `rustc` 1.95 writes it.
const LEGACY: &str = "_ZN5hello4work5inner17h0123456789abcdefE";

fn attempt(number: u32, for_ms: u64, cancel: &CancellationToken) -> Attempt {
    let deadline = Instant::now() + Duration::from_millis(for_ms);
    Attempt { number, cancel: cancel.clone(), ..nobodys(Arc::default(), deadline).unwrap() }
}

/// A sandbox that samples, and a tool `f` made of a core module's text.
fn sampled(bounds: Bounds, module: &str) -> (Profile, Sandbox, SandboxedTool) {
    let profile = Profile::within(NOW, bounds);
    let sandbox =
        Sandbox::with(CompileIn::ThisProcess, SandboxSettings::default(), Some(profile.clone()))
            .unwrap();
    let component = format!(
        r#"(component (core module $m {module}) (core instance $i (instantiate $m))
             (func (export "f") (canon lift (core func $i "f"))))"#
    );
    let compiled = sandbox.compile(&wat::parse_str(component).unwrap()).unwrap();
    let function = compiled.functions().remove(0);
    let entry = Entry::plan(&function, &Words::default(), false).unwrap();
    let tool =
        SandboxedTool::new(Arc::new(compiled), &function, Arc::new(entry), Access::default());
    (profile, sandbox, tool)
}

/// Runs a tool that doesn't end by itself until the profile has so many samples.
async fn run_until(samples: usize, profile: &Profile, sandbox: &Sandbox, tool: &SandboxedTool) {
    let cancel = CancellationToken::new();
    let ending = async {
        while profile.seen().samples < samples {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (end, ()) = tokio::join!(sandbox.run(tool, attempt(1, 60_000, &cancel)), ending);
    assert!(matches!(end.end, End::Interrupted), "{:?}", end.end);
}

fn json(profile: &Profile) -> Value {
    let mut written = Vec::new();
    profile.write("guest.f", &mut written).unwrap();
    serde_json::from_slice(&written).unwrap()
}

fn name_of(thread: &Value, stack: &Value) -> String {
    let at = |table: &str, column: &str, row: &Value| {
        thread[table][column][usize::try_from(row.as_u64().unwrap()).unwrap()].clone()
    };
    let name =
        at("funcTable", "name", &at("frameTable", "func", &at("stackTable", "frame", stack)));
    let name = usize::try_from(name.as_u64().unwrap()).unwrap();
    thread["stringArray"][name].as_str().unwrap().to_owned()
}

/// The frames of a thread's last sample, outermost first.
fn frames(thread: &Value) -> Vec<String> {
    let stacks = thread["samples"]["stack"].as_array().unwrap();
    // The first may have been taken on the way to where the guest then stays.
    let mut stack = stacks.iter().rfind(|it| !it.is_null()).unwrap().clone();
    let mut frames = Vec::new();
    while let Some(row) = stack.as_u64() {
        frames.push(name_of(thread, &stack));
        stack = thread["stackTable"]["prefix"][usize::try_from(row).unwrap()].clone();
    }
    frames.reverse();
    frames
}

fn of_three() -> Bounds {
    Bounds { samples: 4, paths: 3, functions: 3 }
}

fn frame(function: u32) -> Called<'static> {
    Called { module: 0, function, name: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_spins_is_seen_in_the_function_that_spins() {
    let module = format!(
        r#"(func $inner (@name "{LEGACY}") (loop $again (br $again)))
           (func $outer (call $inner)) (func (export "f") (call $outer))"#
    );
    let (profile, sandbox, tool) = sampled(BOUNDS, &module);
    run_until(3, &profile, &sandbox, &tool).await;
    let json = json(&profile);
    let [thread] = json["threads"].as_array().unwrap().as_slice() else { panic!("{json}") };
    // A function without a name in the plugin's text has its number.
    assert_eq!(frames(thread), ["<wasm function 2>", "outer", "hello::work::inner"]);
    assert_eq!(json["meta"]["interval"], 1.0);
    let begun = json["meta"]["startTime"].as_f64().unwrap();
    assert!(begun >= 86_400_000.0, "{begun}");
    assert_eq!((&json["meta"]["product"], &thread["name"]), (&"guest.f".into(), &"guest.f".into()));
    let marked = thread["markers"]["name"].as_array().unwrap().iter();
    let strings = thread["stringArray"].as_array().unwrap();
    let marked = marked.map(|it| &strings[usize::try_from(it.as_u64().unwrap()).unwrap()]);
    assert_eq!(marked.collect::<Vec<_>>(), ["instantiating", "calling"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn start_functions_are_sampled_as_instantiation() {
    let module = r#"(func $init (loop $again (br $again))) (start $init) (func (export "f"))"#;
    let (profile, sandbox, tool) = sampled(BOUNDS, module);
    run_until(1, &profile, &sandbox, &tool).await;
    let json = json(&profile);
    assert_eq!(frames(&json["threads"][0]), ["init"]);
    assert_eq!(json["threads"][0]["markers"]["length"], 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_outer_frames_of_a_deep_stack_are_one() {
    let module = r#"
      (func $down (param i32)
        (if (local.get 0) (then (call $down (i32.sub (local.get 0) (i32.const 1)))))
        (loop $again (br $again)))
      (func $f (export "f") (call $down (i32.const 300)))"#;
    let (profile, sandbox, tool) = sampled(BOUNDS, module);
    run_until(5, &profile, &sandbox, &tool).await;
    let frames = frames(&json(&profile)["threads"][0]);
    assert_eq!(frames.len(), FRAMES_MAX.get() + 1);
    assert_eq!((&*frames[0], &*frames[1], &*frames[256]), ("(outer frames)", "down", "down"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attempts_are_told_apart_and_their_number_is_bounded() {
    let (profile, sandbox, tool) = sampled(BOUNDS, r#"(func (export "f"))"#);
    let (cancel, many) = (CancellationToken::new(), u32::try_from(ATTEMPTS_MAX).unwrap() + 1);
    for number in 1..=many {
        let AttemptEnd { end, .. } = sandbox.run(&tool, attempt(number, 60_000, &cancel)).await;
        assert!(matches!(end, End::Returned(_)), "{end:?}");
    }
    assert_eq!(profile.seen().attempts, ATTEMPTS_MAX);
    let json = json(&profile);
    let names = json["threads"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap());
    let names: Vec<_> = names.collect();
    assert_eq!(names[..2], ["guest.f", "guest.f, attempt 2"]);
    assert_eq!(names.len(), ATTEMPTS_MAX);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guest_that_its_deadline_ends_leaves_its_samples() {
    let module = r#"(func $f (export "f") (loop $again (br $again)))"#;
    let (profile, sandbox, tool) = sampled(BOUNDS, module);
    let end = sandbox.run(&tool, attempt(1, 300, &CancellationToken::new())).await.end;
    let End::Guest(GuestFault::Limit(LimitKind::AttemptDeadline, _)) = end else {
        panic!("{end:?}")
    };
    assert_eq!(frames(&json(&profile)["threads"][0]), ["f"]);
}

#[test]
fn what_is_refused_before_it_runs_is_no_attempt() {
    let (profile, sandbox, tool) = sampled(BOUNDS, r#"(func (export "f"))"#);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let end = runtime.block_on(sandbox.run(&tool, attempt(1, 60_000, &cancel))).end;
    assert!(matches!(end, End::Refused(_)), "{end:?}");
    assert_eq!(profile.seen(), Seen { attempts: 0, samples: 0 });
    assert_eq!(json(&profile)["threads"], serde_json::json!([]));
}

#[test]
fn samples_grow_coarser_where_there_are_too_many() {
    let mut samples = Samples::new(of_three());
    let kept: Vec<u64> = (0..21)
        .filter(|tick| {
            let due = samples.is_due();
            if due {
                samples.add(Duration::from_millis(*tick), &[frame(0)], true);
            }
            due
        })
        .collect();
    assert_eq!(kept, [0, 1, 2, 3, 4, 6, 8, 12, 16]);
    let at = samples.taken().iter().map(|it| it.at.as_millis()).collect::<Vec<_>>();
    assert_eq!((at.as_slice(), samples.stride()), ([0, 8, 16].as_slice(), 8));
}

#[test]
fn paths_and_functions_beyond_the_bounds_are_one_of_each() {
    let mut samples = Samples::new(Bounds { paths: 4, ..of_three() });
    for function in 0..4 {
        samples.add(Duration::ZERO, &[frame(function)], true);
    }
    assert_eq!(samples.functions().count(), 3);
    assert_eq!(samples.nodes()[3].frame, samples::Frame::OtherFunction);
    for function in 0..3 {
        samples.add(Duration::ZERO, &[frame(function), frame(0)], true);
    }
    let other = samples.taken().last().unwrap().path.unwrap();
    assert_eq!(samples.nodes()[other as usize].frame, samples::Frame::OtherPath);
    assert_eq!(samples.nodes().len(), 5);
}

#[test]
fn time_without_a_sample_is_a_gap_and_no_function_of_the_guests() {
    let profile = Profile::within(NOW, BOUNDS);
    let recording = profile.begin(1).unwrap();
    {
        let mut attempted = held(&recording.0);
        for ms in [1, 2, 500] {
            attempted.samples.add(Duration::from_millis(ms), &[frame(7)], true);
        }
        attempted.ended = Some(Duration::from_millis(501));
    }
    let json = json(&profile);
    let samples = &json["threads"][0]["samples"];
    assert_eq!(samples["stack"], serde_json::json!([0, 0, null, 0]));
    assert_eq!(samples["weight"], serde_json::json!([1, 1, 0, 1]));
    assert_eq!(samples["timeDeltas"], serde_json::json!([1.0, 1.0, 1.0, 497.0]));
}

#[test]
fn names_are_unfolded_as_far_as_they_may_be_long() {
    assert_eq!(shown(Some(LEGACY), 1), "hello::work::inner");
    assert_eq!(shown(Some("f\"\u{1b}"), 1), "f\"\u{1b}");
    assert_eq!(shown(None, 3), "<wasm function 3>");
    // Twenty pairs of the pair before: 200 bytes that unfold to a million `a::b`.
    let mut name = "_RIC1aTmmE".to_owned();
    let mut before = name.len() - "TmmE".len() - "_R".len();
    for _ in 0..20 {
        let at = name.len() - "_R".len();
        name.push_str(&format!("TB{0}_B{0}_E", in_62(before - 1)));
        before = at;
    }
    name.push('E');
    assert!(rustc_demangle::try_demangle(&name).is_ok(), "{name}");
    let unfolded = shown(Some(&name), 1);
    assert_eq!(unfolded.len(), NAME_MAX_LEN);
    assert!(unfolded.starts_with("a::<(u32, u32), ((u32, u32), (u32, u32))"), "{unfolded}");
    assert_eq!(shown(Some(&"é".repeat(NAME_MAX_LEN)), 1).len(), NAME_MAX_LEN);
}

/// A number of Rust's v0 names, whose first is 0.
fn in_62(mut number: usize) -> String {
    let digits: Vec<char> = ('0'..='9').chain('a'..='z').chain('A'..='Z').collect();
    let mut text = Vec::new();
    loop {
        text.push(digits[number % 62]);
        number /= 62;
        if number == 0 {
            return text.iter().rev().collect();
        }
    }
}

#[test]
fn the_largest_file_is_as_large_as_the_page_says() {
    let profile = Profile::within(NOW, BOUNDS);
    let recording = profile.begin(2).unwrap();
    // Each byte of it takes six in JSON.
    let name = "\u{1}".repeat(NAME_MAX_LEN);
    {
        let mut attempted = held(&recording.0);
        let samples = &mut attempted.samples;
        for number in 0..u32::try_from(BOUNDS.samples - 1).unwrap() {
            let name = format!("{number}{name}");
            let of = |function| Called { module: 0, function, name: Some(&name) };
            // No two samples have more than their outermost frame in common.
            let called = [of(1), of(2), of(number / 10_000), of(number % 10_000)];
            samples.add(Duration::from_nanos(u64::from(number) * 12_345_678), &called, true);
        }
        assert_eq!(samples.functions().count(), BOUNDS.functions);
        assert_eq!(samples.nodes().len(), BOUNDS.paths + 1);
    }
    let mut written = Vec::new();
    profile.write("guest.f", &mut written).unwrap();
    assert!((10 << 20..16 << 20).contains(&written.len()), "{} bytes", written.len());
    serde_json::from_slice::<Value>(&written).unwrap();
}
