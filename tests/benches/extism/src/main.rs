//! Calls an extism plugin as often as a line on its stdin says, and answers with how long each call
//! took. A process of its own, so that one run may take turns with belljar's lanes.
//!
//! Knows nothing of belljar. Lines in: `fresh N`, `reused N`. Lines out: N numbers of nanoseconds.

use std::io::Write as _;
use std::time::Instant;

use extism::{CompiledPlugin, Error, Manifest, Plugin, PluginBuilder, Wasm};

const NOP: &str = include_str!("../nop.wat");

/// One call, in its own plugin.
fn fresh(compiled: &CompiledPlugin) -> Result<(), Error> {
    reused(&mut Plugin::new_from_compiled(compiled)?)
}

/// One call of a plugin that has had others.
fn reused(plugin: &mut Plugin) -> Result<(), Error> {
    plugin.call::<&str, &str>("nop", "{}").map(drop)
}

fn times(count: usize, mut call: impl FnMut() -> Result<(), Error>) -> Result<String, Error> {
    let mut line = String::new();
    for _ in 0..count {
        let began = Instant::now();
        call()?;
        line.push_str(&format!("{} ", began.elapsed().as_nanos()));
    }
    Ok(line)
}

fn main() -> Result<(), Error> {
    // The bounds that belljar has too: work, time and memory.
    let manifest = Manifest::new([Wasm::data(NOP)])
        .with_timeout(std::time::Duration::from_secs(30))
        .with_memory_max(4096);
    let builder = PluginBuilder::new(manifest).with_wasi(true).with_fuel_limit(50_000_000_000);
    let compiled = CompiledPlugin::new(builder)?;
    let mut plugin = Plugin::new_from_compiled(&compiled)?;
    for line in std::io::stdin().lines() {
        let line = line?;
        let (lane, count) = line.split_once(' ').ok_or_else(|| Error::msg("expected `LANE N`"))?;
        let count = count.parse()?;
        let answer = match lane {
            "fresh" => times(count, || fresh(&compiled)),
            "reused" => times(count, || reused(&mut plugin)),
            _ => Err(Error::msg("expected `fresh` or `reused`")),
        }?;
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}
