//! `docs/configuration.md` says what the configuration's own description says.
//!
//! `BELLJAR_WRITE_DOCS=1 cargo test config_page` writes the page anew.

use crate::guests::built;

const PAGE: &str = "docs/configuration.md";
const WRITE: &str = "BELLJAR_WRITE_DOCS";
const NOTE: &str = "
<!-- Written by `tests/suites/config_page.rs` from `host/src/config/schema/`.
`BELLJAR_WRITE_DOCS=1 cargo test config_page` writes it anew. -->
";

#[test]
fn the_page_is_what_the_schema_says() {
    let reference = belljar::config::reference();
    let (title, rest) = reference.split_once('\n').unwrap();
    let page = format!("{title}\n{NOTE}{rest}");
    let path = built::root().join(PAGE);
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "`{PAGE}` is out of date: {WRITE}=1 cargo test config_page");
}
