//! The page of metrics says what their table says.

use std::path::Path;
use std::{env, fs};
use zazen::runtime::metrics::page;

const PAGE: &str = "docs/metrics.md";
const BLESS: &str = "ZAZEN_BLESS=1 cargo test --test metrics";

#[test]
fn the_page_of_all_metrics_is_in_step_with_their_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let made = page();
    if env::var_os("ZAZEN_BLESS").is_some_and(|value| value == "1") {
        fs::write(&file, &made).expect("the page can be written");
    }
    let found = fs::read_to_string(&file).unwrap_or_default();
    assert!(made == found, "{PAGE} differs from the table; write it anew with: {BLESS}");
}
