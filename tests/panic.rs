//! What a panic leaves in the log file of a process. A process of its own, because panics are told by the whole process.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use std::{env, fs, thread};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;
use zazen::runtime::log::{Form, Levels, Lines, LogFile, Origin, Rotation, Writer, tell_panics};
use zazen::settings::LogSettings;

#[test]
#[expect(clippy::disallowed_methods, reason = "a line of the log tells when it was written")]
fn a_panic_leaves_its_trace_in_the_log_file() {
    let directory: PathBuf = env::temp_dir().join(format!("zazen-panic-{}", std::process::id()));
    let rotation = Rotation { max_size: 1 << 20, max_age: Duration::from_secs(3_600), max_files: 1 };
    let file = LogFile::open(&directory, "prod", rotation, SystemTime::now).expect("it can be written");
    let (writer, flusher) = Writer::start(file).expect("a thread can be started");
    let (_levels, filter) = Levels::new(&LogSettings::default()).expect("the levels are the usual ones");
    let lines = Lines::new(Form::Json, Origin::default(), SystemTime::now, move |line| writer.write(line));
    let subscriber = Registry::default().with(filter).with(lines);
    tracing::subscriber::set_global_default(subscriber).expect("there is none yet");
    tell_panics();
    let broken = thread::Builder::new().name("breaks".into()).spawn(|| panic!("a mistake\nin two lines"));
    broken.expect("a thread can be started").join().expect_err("it breaks");
    drop(flusher);
    let text = fs::read_to_string(directory.join("prod.log")).expect("there is a log");
    fs::remove_dir_all(&directory).expect("it is ours");
    let line: serde_json::Value = serde_json::from_str(text.lines().next().expect("a line")).expect("it is JSON");
    assert_eq!(line["level"], "ERROR");
    let message = line["message"].as_str().expect("it says something");
    assert!(message.starts_with("panic in thread [breaks] at tests/panic.rs:"), "{message}");
    assert!(message.ends_with("a mistake\nin two lines"), "{message}");
    let trace: Vec<&str> =
        line["stacktrace"].as_array().into_iter().flatten().filter_map(|line| line.as_str()).collect();
    assert!(trace.iter().any(|line| line.contains("panic")) && trace.len() > 5, "{trace:?}");
}
