//! Components that are within every bound and take seconds to compile.
//!
//! Compiles nothing itself.

/// Functions of the slow component: a minute of processor time without optimisation.
const FUNCTIONS: usize = 24;
/// What each repeats: `local.get 0`, `i64.const 3`, `i64.mul`, `local.set 0` (WebAssembly core
/// specification, binary format).
const STEP: [u8; 7] = [0x20, 0x00, 0x42, 0x03, 0x7e, 0x21, 0x00];
const STEPS: usize = 100_000;
/// The header of a component without anything in it.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// A component of nothing else.
pub(crate) fn slow() -> Vec<u8> {
    slow_behind(COMPONENT, FUNCTIONS)
}

/// A component with so many slow functions, of 700 kB each, behind what it does.
pub(crate) fn slow_behind(component: &[u8], functions: usize) -> Vec<u8> {
    let body = [&[0][..], &STEP.repeat(STEPS), &[0x0b]].concat();
    let body = [leb128(body.len()), body].concat();
    let code = [leb128(functions), body.repeat(functions)].concat();
    let module = [
        b"\0asm\x01\0\0\0".to_vec(),
        // One type: a function of an i64.
        section(1, &[1, 0x60, 1, 0x7e, 0]),
        section(3, &[leb128(functions), vec![0; functions]].concat()),
        section(10, &code),
    ];
    [component, &section(1, &module.concat())].concat()
}

fn leb128(mut value: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push(u8::try_from(value & 0x7f).unwrap() | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap());
    bytes
}

fn section(id: u8, body: &[u8]) -> Vec<u8> {
    [&[id][..], &leb128(body.len()), body].concat()
}
