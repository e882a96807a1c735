//! A plain component as a newcomer writes it: nothing of belljar, nothing but typed functions.

wit_bindgen::generate!({ path: "wit" });

use exports::example::greeter::greeter::{Direction, Guest, Item, Sum};

const FLOORS: std::ops::RangeInclusive<i32> = 0..=9;

struct Greeter;

impl Guest for Greeter {
    fn greet(name: String) -> Result<String, String> {
        match name.trim() {
            "" => Err("a name is needed".to_owned()),
            name => Ok(format!("Hello, {name}!")),
        }
    }

    fn total(basket: Vec<Item>) -> Sum {
        let count = |item: &Item| item.count.unwrap_or(1);
        Sum {
            items: basket.iter().map(|item| u32::from(count(item))).sum(),
            cents: basket.iter().map(|item| u64::from(item.price) * u64::from(count(item))).sum(),
        }
    }

    fn next_floor(current: i32, going: Direction) -> Option<i32> {
        let next = match going {
            Direction::Up => current.checked_add(1)?,
            Direction::Down => current.checked_sub(1)?,
        };
        FLOORS.contains(&next).then_some(next)
    }
}

#[cfg(target_family = "wasm")]
export!(Greeter);
