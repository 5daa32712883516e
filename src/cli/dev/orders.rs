//! What can be typed at the terminal of a running cluster.

/// One line, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Show the nodes again.
    Show,
    /// End the cluster.
    Quit,
    /// Do something to a node.
    Node(Deed, usize),
    /// Do something to whichever node is master.
    Master(Deed),
}

/// What can be done to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    /// SIGKILL.
    Kill,
    /// SIGTERM: it leaves in good order.
    Stop,
    /// SIGSTOP.
    Pause,
    /// SIGCONT.
    Resume,
    /// Run it again on its data.
    Start,
}

/// All deeds, by their words.
const DEEDS: [(&str, Deed); 5] = [
    ("kill", Deed::Kill),
    ("stop", Deed::Stop),
    ("pause", Deed::Pause),
    ("resume", Deed::Resume),
    ("start", Deed::Start),
];

impl Order {
    /// Understands a line, or says what is allowed.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["show" | "status"] => Ok(Order::Show),
            ["quit" | "exit"] => Ok(Order::Quit),
            [deed, node] => {
                let found = DEEDS.iter().find(|(word, _)| *word == deed).ok_or_else(|| not_understood(line))?;
                if node == "master" {
                    return Ok(Order::Master(found.1));
                }
                let number = node.strip_prefix("node-").unwrap_or(node).parse();
                let number = number.map_err(|_| format!("there is no node [{node}], write node-0 or 0"))?;
                Ok(Order::Node(found.1, number))
            }
            _ => Err(not_understood(line)),
        }
    }
}

fn not_understood(line: &str) -> String {
    let line = line.trim();
    format!(
        "[{line}] is not understood: kill, stop, pause, resume or start a node, as in `kill node-0` or `kill master`; show; quit"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_short_and_others_are_told_what_is_allowed() {
        assert_eq!(Order::read(" kill node-2 "), Ok(Order::Node(Deed::Kill, 2)));
        assert_eq!(Order::read("kill master"), Ok(Order::Master(Deed::Kill)));
        assert_eq!(Order::read("start 0"), Ok(Order::Node(Deed::Start, 0)));
        assert_eq!(Order::read("quit"), Ok(Order::Quit));
        assert_eq!(Order::read("kill node-x"), Err("there is no node [node-x], write node-0 or 0".into()));
        assert!(Order::read("shoot 1").is_err_and(|what| what.starts_with("[shoot 1] is not understood: kill, stop")));
    }
}
