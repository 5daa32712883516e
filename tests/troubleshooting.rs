//! The page about what can be wrong has a section for each code, in order, and no other.

use zazen::diagnose::Code;

#[test]
fn every_code_has_a_section_and_every_section_a_code() {
    let page = include_str!("../docs/troubleshooting.md");
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    assert_eq!(sections, codes, "write the section that is missing into docs/troubleshooting.md");
    let mends = page.lines().filter(|line| line.starts_with("**Mend:** ")).count();
    assert_eq!(mends, codes.len(), "each section says what to type");
}

#[test]
fn a_code_is_written_as_it_is_named() {
    for code in Code::ALL {
        assert_eq!(serde_json::to_value(code).expect("it is a word"), code.name());
    }
}
