//! Tests of the world.
