//! The plugin that the README shows. Must stay small, and the same as there.

wit_bindgen::generate!({ inline: "
    package example:hello@0.1.0;
    world plugin { export greet: func(name: string) -> result<string, string>; }
" });
struct Hello;
impl Guest for Hello {
    fn greet(name: String) -> Result<String, String> {
        if name.is_empty() { Err("a name is needed".into()) } else { Ok(format!("Hello, {name}!")) }
    }
}
export!(Hello);
