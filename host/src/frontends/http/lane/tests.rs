//! What a lane holds and what a watcher is told.

use super::*;

fn event(sequence: u64, text: &str) -> Arc<Written> {
    let kind = EventKind::AuthorNote { text: text.to_owned() };
    Written::new(Arc::new(Event { sequence, at_unix_ms: 1, call_id: None, caller: None, kind }))
}

fn filled(lane: &Lane, numbers: std::ops::RangeInclusive<u64>) {
    numbers.for_each(|number| lane.push(&event(number, "x")));
}

/// All that a watcher is handed: numbers of events, and gaps.
fn told(watcher: &mut Watcher) -> (Vec<u64>, Vec<u64>) {
    let (mut numbers, mut gaps) = (Vec::new(), Vec::new());
    loop {
        let piece = watcher.piece(&Redactor::default());
        if piece.is_empty() {
            return (numbers, gaps);
        }
        let text = String::from_utf8(piece).unwrap();
        numbers
            .extend(text.lines().filter_map(|line| line.strip_prefix("id: ")?.parse::<u64>().ok()));
        let gap = |line: &str| {
            let json = line.strip_prefix("data: ")?;
            serde_json::from_str::<serde_json::Value>(json).unwrap().get("missed")?.as_u64()
        };
        gaps.extend(text.lines().filter_map(gap));
    }
}

#[test]
fn a_watcher_sees_what_comes_after_it_and_one_that_is_back_goes_on() {
    let lane = Lane::new();
    filled(&lane, 1..=5);
    let mut new = lane.watch(None);
    filled(&lane, 6..=7);
    assert_eq!(told(&mut new), (vec![6, 7], vec![]));
    assert_eq!(told(&mut new), (vec![], vec![]));
    assert_eq!(told(&mut lane.watch(Some(3))), (vec![4, 5, 6, 7], vec![]));
    assert_eq!(told(&mut lane.watch(Some(7))), (vec![], vec![]));
}

#[test]
fn t43_a_slow_watcher_loses_the_oldest_and_is_told_how_many() {
    let lane = Lane::new();
    filled(&lane, 1..=2);
    let mut slow = lane.watch(None);
    let all = EVENTS_MAX as u64;
    filled(&lane, 3..=2 + all + 10);
    let (numbers, gaps) = told(&mut slow);
    assert_eq!(gaps, [10]);
    assert_eq!((numbers.first(), numbers.len()), (Some(&13), EVENTS_MAX));
    let (numbers, gaps) = told(&mut lane.watch(Some(5)));
    assert_eq!((numbers.first(), gaps), (Some(&13), vec![7]));
}

#[test]
fn events_are_bounded_in_bytes() {
    let lane = Lane::new();
    let long = "x".repeat(1 << 20);
    (1..=20).for_each(|number| lane.push(&event(number, &long)));
    let (numbers, gaps) = told(&mut lane.watch(Some(0)));
    assert!(numbers.len() < 9 && numbers.last() == Some(&20), "{numbers:?}");
    assert_eq!(gaps, [20 - numbers.len() as u64]);
}

#[test]
fn a_number_of_an_earlier_run_begins_anew_and_says_so() {
    let lane = Lane::new();
    filled(&lane, 1..=3);
    assert_eq!(told(&mut lane.watch(Some(1_000))), (vec![1, 2, 3], vec![0]));
}

#[test]
fn what_the_bus_lost_is_told_in_its_place() {
    let lane = Lane::new();
    filled(&lane, 1..=1);
    lane.push_gap(5);
    filled(&lane, 7..=7);
    assert_eq!(told(&mut lane.watch(Some(0))), (vec![1, 7], vec![5]));
}

#[test]
fn a_watcher_is_handed_one_piece_at_a_time() {
    let lane = Lane::new();
    let mut watcher = lane.watch(None);
    filled(&lane, 1..=1_000);
    let piece = watcher.piece(&Redactor::default());
    assert!(piece.len() < PIECE_LEN + 500, "{}", piece.len());
    assert_eq!(lane.watchers(), 1);
    drop(watcher);
    assert_eq!(lane.watchers(), 0);
}

#[test]
fn an_event_is_written_once_and_without_the_declared_secrets() {
    let redactor = Redactor::new([("word".to_owned(), "swordfish-1234".to_owned())]);
    let event = event(4, "the word is swordfish-1234\nand more");
    let text = event.text(&redactor);
    let shown = std::str::from_utf8(&text).unwrap();
    assert!(shown.starts_with("id: 4\ndata: {") && shown.ends_with("\n\n"), "{shown}");
    assert!(!shown.contains("swordfish") && shown.lines().count() == 3, "{shown}");
    assert_eq!(event.text(&redactor).as_ptr(), text.as_ptr());
}
