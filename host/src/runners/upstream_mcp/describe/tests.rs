//! descriptions
