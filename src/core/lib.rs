//! The decisions of Zazen, and what they are about: pure, so they read no clock, no entropy and no file.
//!
//! Elasticsearch has these in `org.elasticsearch.cluster`, `discovery.zen` and `gateway`. Who may use whom is told in the
//! root of the package `zazen`.

pub mod cluster;
pub mod protocol;
pub mod service;
pub mod wire;
pub mod zen;
