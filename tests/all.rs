//! All tests that need a whole host, in one binary.

mod guests;

mod suites {
    mod hostile;
    mod limits_page;
}
