//! The `zazen` command.

use zazen::sim::{Detail, RunOptions, run};

fn main() {
    let arg = |n: usize| std::env::args().nth(n).and_then(|a| a.parse::<u64>().ok());
    let (first, count) = (arg(1).unwrap_or(1), arg(2).unwrap_or(1));
    let trace =
        arg(3).map(|n| (if std::env::args().nth(4).is_some() { Detail::Full } else { Detail::Short }, n as usize));
    let mut vac = 0;
    let mut fails = std::collections::BTreeMap::<String, Vec<u64>>::new();
    for seed in first..first + count {
        let options = RunOptions { seed, nodes: None, updates: 200, tuning: Default::default(), until: None, trace };
        match run(&options) {
            Ok(report) => {
                if report.vacuous().is_some() {
                    vac += 1;
                }
                if count <= 3 {
                    println!("{report:#?}");
                }
            }
            Err(failure) => {
                fails.entry(failure.violation.checker.to_string()).or_default().push(seed);
                if count < 20 || fails.len() < 3 {
                    if trace.is_some() {
                        println!("{}", failure.draw);
                        for line in &failure.trace {
                            println!("{line}");
                        }
                    }
                    println!("seed {seed}: {} at {} event {}", failure.violation, failure.at, failure.event);
                }
            }
        }
    }
    println!("vacuous {vac}, fails {fails:?}");
}
