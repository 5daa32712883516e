//! Cuts Rust source into tokens, just well enough to tell code from comments and literals.

/// An identifier, a literal, `::` or one sign. Lifetimes and comments are left out.
pub(crate) struct Token<'a> {
    pub(crate) line: usize,
    pub(crate) text: &'a str,
}

pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_code) = lexeme(rest, first);
        let (text, behind) = rest.split_at(length);
        if is_code {
            found.push(Token { line, text });
        }
        line += text.matches('\n').count();
        rest = behind;
    }
    found
}

/// How many bytes the next piece has, and whether it is code.
fn lexeme(rest: &str, first: char) -> (usize, bool) {
    if rest.starts_with("//") {
        (rest.find('\n').unwrap_or(rest.len()), false)
    } else if rest.starts_with("/*") {
        (block_comment(rest), false)
    } else if let Some(length) = raw_string(rest) {
        (length, true)
    } else if rest.starts_with('"') || rest.starts_with("b\"") {
        (quoted(rest, '"'), true)
    } else if first == '\'' && !is_char_literal(rest) {
        (1 + word(&rest[1..]), false)
    } else if first == '\'' || rest.starts_with("b'") {
        (quoted(rest, '\''), true)
    } else if first.is_alphanumeric() || first == '_' {
        (word(rest), true)
    } else if rest.starts_with("::") {
        (2, true)
    } else {
        (first.len_utf8(), !first.is_whitespace())
    }
}

fn word(rest: &str) -> usize {
    rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
}

fn is_char_literal(rest: &str) -> bool {
    let mut inside = rest.chars().skip(1);
    matches!((inside.next(), inside.next()), (Some('\\'), _) | (_, Some('\'')))
}

/// The length of a literal that may hold escaped signs.
fn quoted(rest: &str, quote: char) -> usize {
    let start = rest.find(quote).expect("the caller saw the quote") + 1;
    let mut escaped = false;
    for (at, c) in rest[start..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return start + at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix('b').unwrap_or(rest).strip_prefix('r')?;
    let hashes = start.find(|c| c != '#').unwrap_or(0);
    let inside = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(rest.len() - inside.len() + length)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at.min(rest.len())
}
