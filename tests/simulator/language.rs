//! The language of scripts: what may be said, and what is answered to what may not.

use zazen::sim::script::{Script, ScriptWorld};

/// What is answered to one command.
fn said_to(command: &str) -> String {
    let script = Script::parse(&format!("# A command.\n\n{command}\n----\n")).expect("it is a script");
    let block = script.blocks().next().expect("it has one");
    ScriptWorld::new().play(block).expect_err(command).to_string()
}

#[test]
fn the_page_about_scripts_names_every_command() {
    let said = said_to("strat");
    let (_, verbs) = said.split_once("allowed: ").expect("it says what is allowed");
    let page = include_str!("../../docs/golden.md");
    for verb in verbs.split(", ") {
        assert!(page.contains(&format!("`{verb}")), "docs/golden.md does not say what `{verb}` does");
    }
}

#[test]
fn mistakes_say_what_was_read_and_what_is_allowed() {
    let cases = [
        ("strat", "`strat` as a command; allowed: nodes, node"),
        ("advance 3", "`3` as a time; allowed: a number and `micros`"),
        ("advance 3s more", "`more`, which means nothing here; allowed: the end of the line (as in: advance 3s)"),
        ("kill a", "`kill a`; allowed: kill a…"),
        ("drop gossip", "`gossip` as a kind of message; allowed: all, ping"),
        ("state x", "`x` as a node; allowed: "),
    ];
    for (text, expected) in cases {
        let said = said_to(text);
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

const FOUND_DONE: &str = "
# The change is made, c is removed without having applied it, and the answer gets lost: b asks again.

nodes a b c
start
stabilise
cut a c hole
cut b c hole
drop answered
put k v via b
advance 2s
pass
reset a b
until answered
oracle early-ack
----
";

#[test]
fn what_is_found_done_is_applied_by_all_though_one_that_was_a_member_has_not() {
    let script = Script::parse(FOUND_DONE).expect("it is a script");
    let mut stage = ScriptWorld::new();
    let told: Vec<String> = script.blocks().flat_map(|block| stage.play(block).expect("it plays")).collect();
    assert!(told.iter().any(|line| line.ends_with("done at 1/4, acknowledged")), "{told:?}");
    assert_eq!(stage.verdict(), Some(Ok(())));
}
