//! The guests of the tests, where the suites find them. What they must end as is in `outcomes`.

pub(crate) mod built;
pub(crate) mod fixture;
pub(crate) mod outcomes;
