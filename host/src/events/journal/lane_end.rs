//! What lies behind the last whole record of a dead lane's file: what a crash leaves, or damage.
//!
//! A record is put in by one write into room that holds zeros, and its JSON has none. So a process
//! that is killed leaves the beginning of one record and zeros behind it, and a power cut leaves
//! sectors that are still zero. A frame that is there to its last byte and whose check fails is
//! neither: it was changed after it was written.
//!
//! Not to be told from a crash: zeros over whole sectors, or from within a sector to its end, and a
//! file that was cut short. Behind a hole nothing is judged. A lane whose process lives may be read
//! in the middle of a write, so no verdict holds for one. Changes nothing.

use super::frame;

/// What a disk writes whole or not at all, in bytes: the smallest unit that disks have.
const SECTOR: usize = 512;

/// A verdict on what is behind the last whole record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneEnd {
    /// Nothing: it ends, or zeros follow.
    Nothing,
    /// A crash left so many bytes of records that nobody was told are there.
    CutShort(usize),
    /// A record that was there is spoilt.
    Damaged {
        /// Where the next whole record lies, where the spoilt one still says so.
        next: Option<usize>,
    },
}

/// Judges what lies at `at`, where no whole frame does.
pub(super) fn judge(bytes: &[u8], at: usize) -> LaneEnd {
    let rest = bytes.get(at..).unwrap_or_default();
    let Some(last) = rest.iter().rposition(|byte| *byte != 0) else { return LaneEnd::Nothing };
    let cut_short = LaneEnd::CutShort(last + 1);
    let sector_end = (at / SECTOR + 1) * SECTOR;
    if rest.iter().take(sector_end - at).all(|byte| *byte == 0) {
        return cut_short;
    }
    let written = rest.get(..=last).unwrap_or_default();
    let Some((header, after)) = written.split_first_chunk::<{ frame::HEADER_LEN }>() else {
        return cut_short;
    };
    let [a, b, c, d, crc @ ..] = *header;
    let len = usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(usize::MAX);
    if len == 0 || len > frame::PAYLOAD_MAX_LEN {
        return LaneEnd::Damaged { next: None };
    }
    if crc32fast::hash(after) == u32::from_le_bytes(crc) {
        // It is whole, and its length was changed.
        return LaneEnd::Damaged { next: None };
    }
    let start = at + frame::HEADER_LEN;
    let payload = bytes.get(start..).unwrap_or_default();
    let payload = payload.get(..len).unwrap_or(payload);
    let is_there = payload.len() == len && !payload.contains(&0);
    if !is_there && has_only_holes(payload, start) {
        return cut_short;
    }
    let next = start + len;
    let is_followed = matches!(frame::at(bytes, next), frame::Found::Frame { .. });
    LaneEnd::Damaged { next: is_followed.then_some(next) }
}

/// Whether zeros reach to the end of the sector that they begin in. `start` is where the payload
/// lies in its file.
fn has_only_holes(payload: &[u8], start: usize) -> bool {
    let first = SECTOR - start % SECTOR;
    let (head, tail) = payload.split_at(first.min(payload.len()));
    std::iter::once(head).chain(tail.chunks(SECTOR)).all(|sector| {
        let mut behind = sector.iter().skip_while(|byte| **byte != 0);
        behind.all(|byte| *byte == 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two records, the second over several sectors, and room behind; where the second begins.
    fn lane() -> (Vec<u8>, usize) {
        let mut bytes = Vec::new();
        assert!(frame::push(&mut bytes, br#"{"first":1}"#));
        let at = bytes.len();
        assert!(frame::push(&mut bytes, format!("{{\"a\":\"{}\"}}", "x".repeat(2_000)).as_bytes()));
        (bytes, at)
    }

    #[test]
    fn what_a_kill_leaves_at_any_byte_is_cut_short() {
        let (whole, at) = lane();
        for room in [0, 4096] {
            assert_eq!(
                judge(&[whole.clone(), vec![0; room]].concat(), whole.len()),
                LaneEnd::Nothing
            );
            for cut in at + 1..whole.len() {
                let mut bytes = whole[..cut].to_vec();
                bytes.resize(cut + room, 0);
                let found = judge(&bytes, at);
                assert!(matches!(found, LaneEnd::CutShort(_)), "{cut} of {room}: {found:?}");
            }
        }
    }

    #[test]
    fn sectors_that_a_power_cut_took_are_cut_short_whatever_lies_behind() {
        let (mut whole, at) = lane();
        frame::push(&mut whole, br#"{"behind":1}"#);
        for sectors in 1..1 << 4 {
            let mut bytes = whole.clone();
            for sector in (0..4).filter(|sector| sectors >> sector & 1 == 1) {
                let from = (sector * SECTOR).max(at);
                bytes[from..(sector + 1) * SECTOR].fill(0);
            }
            let found = judge(&bytes, at);
            assert!(matches!(found, LaneEnd::CutShort(_)), "{sectors:04b}: {found:?}");
        }
    }

    #[test]
    fn a_change_to_a_whole_record_is_damage_wherever_it_is() {
        let (whole, at) = lane();
        for room in [0, 4096] {
            for place in at..whole.len() {
                for change in [1, 0x40, 0x80] {
                    let mut bytes = whole.clone();
                    bytes.resize(whole.len() + room, 0);
                    bytes[place] ^= change;
                    let found = judge(&bytes, at);
                    assert_eq!(found, LaneEnd::Damaged { next: None }, "{place} by {change:#x}");
                }
            }
        }
    }

    #[test]
    fn zeros_within_a_sector_are_damage() {
        let (mut bytes, at) = lane();
        bytes[at + 100..at + 140].fill(0);
        assert_eq!(judge(&bytes, at), LaneEnd::Damaged { next: None });
        let (mut bytes, at) = lane();
        bytes[at..at + 4].fill(0);
        assert_eq!(judge(&bytes, at), LaneEnd::Damaged { next: None }, "its length");
    }

    #[test]
    fn the_record_behind_a_spoilt_one_is_found_by_its_length() {
        let (mut bytes, at) = lane();
        let next = bytes.len();
        assert!(frame::push(&mut bytes, br#"{"behind":1}"#));
        bytes[at + 30] ^= 1;
        assert_eq!(judge(&bytes, at), LaneEnd::Damaged { next: Some(next) });
        bytes[at + 1] ^= 1;
        assert_eq!(judge(&bytes, at), LaneEnd::Damaged { next: None }, "not by a wrong one");
    }
}
