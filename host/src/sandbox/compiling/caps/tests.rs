//! What a component may hold before a compiler sees it.

use super::*;

fn component(inside: &str) -> Vec<u8> {
    wat::parse_str(format!("(component {inside})")).unwrap()
}

fn refused(inside: &str) -> String {
    check(&component(inside)).unwrap_err().to_string()
}

#[test]
fn a_component_of_usual_size_is_within_all_bounds() {
    check(&component("(core module (func)) (core module (memory 1)) (component)")).unwrap();
}

#[test]
fn modules_beyond_the_bound_are_refused() {
    check(&component(&"(core module)".repeat(PARTS_MAX))).unwrap();
    let error = refused(&"(core module)".repeat(PARTS_MAX + 1));
    assert_eq!(error, "it has more modules and components than the 512 that are compiled");
}

#[test]
fn components_in_components_beyond_the_bound_are_refused() {
    let nested = |levels| "(component ".repeat(levels) + &")".repeat(levels);
    check(&component(&nested(NESTING_MAX))).unwrap();
    let error = refused(&nested(NESTING_MAX + 1));
    assert!(error.contains("levels of components"), "{error}");
}

#[test]
fn parts_beside_each_other_are_not_levels() {
    check(&component(&"(component (core module))".repeat(NESTING_MAX * 4))).unwrap();
}

#[test]
fn functions_of_all_modules_together_are_bounded() {
    let half = usize::try_from(FUNCTIONS_MAX / 2).unwrap();
    let module = format!("(core module {})", "(func)".repeat(half));
    check(&component(&module.repeat(2))).unwrap();
    let error = refused(&format!("{} (core module (func))", module.repeat(2)));
    assert!(error.contains("more functions than the 200000"), "{error}");
}

#[test]
fn one_function_is_bounded() {
    let module = |len: usize| format!("(core module (func {}))", "nop ".repeat(len));
    check(&component(&module(BODY_MAX_LEN - 16))).unwrap();
    let error = refused(&module(BODY_MAX_LEN));
    assert!(error.contains("one of its functions"), "{error}");
}

#[test]
fn entries_of_all_sections_together_are_bounded() {
    let most = usize::try_from(ENTRIES_MAX).unwrap();
    let types = |count: usize| format!("(core module {})", "(type (func))".repeat(count));
    check(&component(&types(most))).unwrap();
    let error = refused(&types(most + 1));
    assert!(error.contains("entries in its sections"), "{error}");
}

#[test]
fn what_cannot_be_read_is_left_to_the_validator() {
    let whole = component("(core module (func))");
    for len in 0..whole.len() {
        check(&whole[..len]).unwrap();
    }
}

#[test]
fn one_name_is_bounded() {
    let module = |len: usize| format!("(core module (func $f (@name \"{}\")))", "x".repeat(len));
    check(&component(&module(NAME_MAX_LEN))).unwrap();
    let error = refused(&module(NAME_MAX_LEN + 1));
    assert!(error.contains("the name of one of its functions has 100001 bytes"), "{error}");
}
