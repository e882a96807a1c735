//! Never has enough. The demo stops it at a deadline, by its fuel and at its memory limit.

wit_bindgen::generate!({ inline: "
    package example:greedy@0.1.0;
    world plugin {
        export spin: func();
        export eat: func();
    }
" });

/// What is eaten at once, in bytes.
const BITE: usize = 1 << 20;

struct Greedy;

impl Guest for Greedy {
    fn spin() {
        loop {
            std::hint::spin_loop();
        }
    }

    fn eat() {
        let mut eaten = Vec::new();
        loop {
            eaten.push(std::hint::black_box(vec![1_u8; BITE]));
        }
    }
}

#[cfg(target_family = "wasm")]
export!(Greedy);
