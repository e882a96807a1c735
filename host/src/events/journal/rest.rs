//! What lies behind the last whole entry of the newest segment: a write that was cut short, or
//! damage.
//!
//! A process that is killed leaves the beginning of what it wrote. A power cut also leaves holes,
//! and all that is spoilt then is still in the lanes of processes that are gone. Anything else was
//! changed after it was written. Changes nothing.

use std::collections::BTreeMap;

use super::error::JournalError;
use super::frame;
use super::lanes::{Lanes, Pending};
use super::segment::{self, EntryHead};
use crate::contract::ids::Digest;

/// The log up to the place behind which the rest lies.
#[derive(Debug)]
pub(super) struct Known<'a> {
    /// The number of the last entry.
    pub(super) seq: u64,
    /// The link that the next entry has to name; `None` where the rest begins with a segment's
    /// header.
    pub(super) link: Option<Digest>,
    /// Lane → the number of its last record in the log.
    pub(super) drained: &'a BTreeMap<String, u64>,
}

/// A verdict on the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// There is none.
    Nothing,
    /// Nothing is lost if it goes: no whole entry lies in it that isn't in a lane as well.
    Torn,
    /// Something that was written is spoilt.
    Damaged,
}

/// Judges the rest from `at` on. `lanes` are looked into where they are given, which takes the lock
/// of the log: without it a lane that is being looked at seems to be alive.
pub(super) fn judge(
    bytes: &[u8],
    at: usize,
    known: &Known<'_>,
    lanes: Option<&Lanes>,
) -> Result<Rest, JournalError> {
    let rest = bytes.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return Ok(Rest::Nothing);
    }
    let after = segment::stragglers(bytes, at);
    if after.is_empty() && is_cut_short(rest) {
        return Ok(Rest::Torn);
    }
    let Some(lanes) = lanes else { return Ok(Rest::Damaged) };
    let pending = lanes.pending_of_dead(known.drained)?;
    let held = |head: &EntryHead<'_>| {
        let of_lane = pending.get(head.lane);
        of_lane.is_some_and(|records| records.iter().any(|(number, _)| *number == head.number))
    };
    let spoilt = after.last().map_or(1, |(last, _)| last.seq.saturating_sub(known.seq));
    let is_made_up_for = after.iter().all(|(head, _)| held(head))
        && pending.values().map(Vec::len).sum::<usize>() as u64 >= spoilt
        && match known.link {
            Some(link) => is_first_of_some(rest, known.seq, link, &pending)?,
            None => rest.iter().take(frame::HEADER_LEN).all(|byte| *byte == 0),
        };
    Ok(if is_made_up_for { Rest::Torn } else { Rest::Damaged })
}

/// Whether it is what a write leaves that was cut short: nothing, or the beginning of one frame, and
/// maybe zeros behind it.
fn is_cut_short(rest: &[u8]) -> bool {
    let written = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let rest = rest.get(..written).unwrap_or_default();
    let Some(([a, b, c, d, crc @ ..], payload)) = rest.split_first_chunk::<{ frame::HEADER_LEN }>()
    else {
        return true;
    };
    let len = usize::try_from(u32::from_le_bytes([*a, *b, *c, *d])).unwrap_or(usize::MAX);
    // With the right checksum it is whole, and its length was changed.
    payload.len() < len
        && len <= frame::PAYLOAD_MAX_LEN
        && crc32fast::hash(payload) != u32::from_le_bytes(*crc)
}

/// Whether what is spoilt first is the entry that a lane's next record makes: the same but for
/// holes, or with the same length and checksum.
fn is_first_of_some(
    rest: &[u8],
    seq: u64,
    previous: Digest,
    pending: &Pending,
) -> Result<bool, JournalError> {
    for (lane, records) in pending {
        let Some((number, record)) = records.first() else { continue };
        let mut whole = Vec::new();
        let head = EntryHead { seq: seq + 1, previous, lane, number: *number };
        segment::push_entry(&mut whole, &head, record)?;
        let same_but_holes = whole.iter().zip(rest).all(|(is, found)| is == found || *found == 0);
        if same_but_holes || rest.get(..frame::HEADER_LEN) == whole.get(..frame::HEADER_LEN) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_frame_that_can_be_is_cut_short() {
        let mut whole = Vec::new();
        assert!(frame::push(&mut whole, b"what it says"));
        for len in 0..whole.len() {
            assert!(is_cut_short(&whole[..len]), "{len}");
            let mut room = whole[..len].to_vec();
            room.resize(len + 50, 0);
            assert!(is_cut_short(&room), "{len} and zeros");
        }
        let mut longer = whole.clone();
        longer[0] += 9;
        assert!(!is_cut_short(&longer), "whole, with another length");
        let mut endless = whole[..10].to_vec();
        endless[3] = 1;
        assert!(!is_cut_short(&endless), "longer than any");
        whole[9] ^= 1;
        assert!(!is_cut_short(&whole), "whole, and changed");
    }
}
