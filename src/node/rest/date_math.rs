//! Names of indices that stand for a day: `<logs-{now/d}>` is `logs-2026.11.25` on that day.
//!
//! Only UTC and offsets from it are known as time zones. Mirrors `IndexNameExpressionResolver.DateMathExpressionResolver`
//! and `JavaDateMathParser` (6.8), whose messages clients see.

use super::calendar::{Moment, Unit};
use super::error::{Kind, RestError};

/// How a date is written unless the name says otherwise.
const FORMAT: &str = "uuuu.MM.dd";

/// The name that is meant, so many milliseconds after 1970.
pub(super) fn resolved(name: &str, now: i64) -> Result<String, RestError> {
    match name.strip_prefix('<').and_then(|name| name.strip_suffix('>')) {
        Some(inner) => Reader { inner, whole: &name[1..], now }.read(),
        None => Ok(name.to_owned()),
    }
}

/// What Elasticsearch warns of: letters of formats whose meaning changes.
pub(super) fn warnings(name: &str) -> Vec<String> {
    let Some(inner) = name.strip_prefix('<').and_then(|name| name.strip_suffix('>')) else {
        return Vec::new();
    };
    let formats: Vec<&str> = inner.split('{').skip(2).collect();
    let has = |letter: char| {
        formats.iter().any(|format| format.split(['}', '|']).next().is_some_and(|it| it.contains(letter)))
    };
    let known = [
        ('y', "'y' year should be replaced with 'u'. Use 'y' for year-of-era."),
        ('Y', "'Y' year-of-era should be replaced with 'y'. Use 'Y' for week-based-year."),
    ];
    let told = known.iter().filter(|(letter, _)| has(*letter));
    told.map(|(_, text)| format!("{text} Prefix your date format with '8' to use the new specifier.")).collect()
}

struct Reader<'a> {
    /// Between the brackets.
    inner: &'a str,
    /// The same with the last one, which is how Elasticsearch quotes it.
    whole: &'a str,
    now: i64,
}

impl Reader<'_> {
    fn refuse(&self, why: &str) -> RestError {
        RestError::new(Kind::ElasticsearchParse, format!("invalid dynamic name expression [{}]. {why}", self.whole))
    }

    fn read(&self) -> Result<String, RestError> {
        let mut name = String::new();
        let mut placeholder: Option<String> = None;
        let (mut is_escaped, mut in_format) = (false, false);
        for (at, letter) in self.inner.chars().enumerate() {
            let was_escaped = std::mem::take(&mut is_escaped);
            match (letter, &mut placeholder) {
                ('\\', _) if was_escaped => name.push(letter),
                ('\\', _) => is_escaped = true,
                ('{' | '}', Some(inside)) if in_format && was_escaped => inside.push(letter),
                ('{', Some(_)) if in_format => {
                    let at = at + 1;
                    return Err(self.refuse(&format!("invalid character in placeholder at position [{at}]")));
                }
                ('{' | '}', Some(inside)) if in_format || letter == '{' => {
                    in_format = letter == '{';
                    inside.push(letter);
                }
                ('}', Some(inside)) => {
                    name += &written(inside, self.now)?;
                    placeholder = None;
                }
                (_, Some(inside)) => inside.push(letter),
                ('{', None) if !was_escaped => placeholder = Some(String::new()),
                ('}', None) if !was_escaped => return Err(self.reserved(at + 1)),
                (_, None) => name.push(letter),
            }
        }
        if placeholder.is_some() {
            return Err(self.refuse("date math placeholder is open ended"));
        }
        if name.is_empty() { Err(RestError::new(Kind::ElasticsearchParse, "nothing captured")) } else { Ok(name) }
    }

    fn reserved(&self, at: usize) -> RestError {
        self.refuse(&format!(
            "invalid character at position [{at}]. `{{` and `}}` are reserved characters and should be escaped when used as \
             part of the index name using `\\` (e.g. `\\{{text\\}}`)"
        ))
    }
}

/// What a placeholder stands for.
fn written(placeholder: &str, now: i64) -> Result<String, RestError> {
    let refuse = |why: &str| {
        let reason = format!("invalid dynamic name expression [{placeholder}]. {why}");
        RestError::new(Kind::ElasticsearchParse, reason)
    };
    let Some((math, rest)) = placeholder.split_once('{') else {
        return format(FORMAT, Moment::at(calculated(placeholder, now, 0)?));
    };
    let Some(inside) = rest.strip_suffix('}') else {
        return Err(refuse("missing closing `}` for date math format"));
    };
    if inside.is_empty() {
        return Err(refuse("missing date format"));
    }
    let (pattern, zone) = inside.split_once('|').unwrap_or((inside, "UTC"));
    let offset = offset(zone)?;
    format(pattern, Moment::at(calculated(math, now, offset)? + offset))
}

/// How many milliseconds a time zone is ahead of UTC.
fn offset(zone: &str) -> Result<i64, RestError> {
    if matches!(zone, "UTC" | "Z" | "GMT" | "UT") {
        return Ok(0);
    }
    let unknown = || RestError::illegal(format!("Unknown time-zone ID: {zone}"));
    let (sign, rest) = match zone.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return Err(unknown()),
    };
    let (hours, minutes) = rest.split_once(':').unwrap_or((rest, "0"));
    match (hours.parse::<i64>(), minutes.parse::<i64>()) {
        (Ok(hours @ 0..=18), Ok(minutes @ 0..=59)) => Ok(sign * (hours * 60 + minutes) * 60_000),
        _ => Err(unknown()),
    }
}

/// The moment that a calculation comes to.
fn calculated(math: &str, now: i64, offset: i64) -> Result<i64, RestError> {
    if math.is_empty() {
        return Err(RestError::illegal("cannot parse empty date"));
    }
    let (base, steps) = match math.strip_prefix("now") {
        Some(steps) => (now, steps),
        None => {
            let (date, steps) = math.split_once("||").unwrap_or((math, ""));
            (dated(date)? - offset, steps)
        }
    };
    let mut moment = Moment::at(base + offset);
    let mut rest = steps;
    while !rest.is_empty() {
        rest = step(&mut moment, steps, rest)?;
    }
    Ok(moment.millis() - offset)
}

/// Takes one step of a calculation, and tells what is left of it.
fn step<'a>(moment: &mut Moment, all: &str, rest: &'a str) -> Result<&'a str, RestError> {
    let refuse = |why: &str| RestError::new(Kind::ElasticsearchParse, format!("{why} [{all}]"));
    let mut letters = rest.chars();
    let sign = match letters.next() {
        Some('+') => 1,
        Some('-') => -1,
        Some('/') => 0,
        _ => return Err(refuse("operator not supported for date math")),
    };
    let behind = letters.as_str();
    let digits = behind.len() - behind.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
    let (number, behind) = behind.split_at(digits);
    let mut letters = behind.chars();
    let Some(letter) = letters.next() else {
        return Err(refuse("truncated date math"));
    };
    let number = if number.is_empty() { 1 } else { number.parse::<i32>().map_err(|_| RestError::no_number(number))? };
    if sign == 0 && number != 1 {
        return Err(refuse("rounding `/` can only be used on single unit types"));
    }
    let Some(unit) = Unit::of(letter) else {
        let reason = format!("unit [{letter}] not supported for date math [{all}]");
        return Err(RestError::new(Kind::ElasticsearchParse, reason));
    };
    if sign == 0 {
        moment.round(unit)
    } else {
        moment.add(unit, sign * number)
    }
    Ok(letters.as_str())
}

/// The midnight of a date that is written as in a name.
fn dated(text: &str) -> Result<i64, RestError> {
    let pieces: Vec<&str> = text.split('.').collect();
    let day = match pieces[..] {
        [year, month, day] if (year.len(), month.len(), day.len()) == (4, 2, 2) => {
            let parts = year.parse().ok().zip(month.parse().ok()).zip(day.parse().ok());
            parts.and_then(|((year, month), day)| Moment::of_day(year, month, day))
        }
        _ => None,
    };
    day.map(Moment::millis).ok_or_else(|| undated(text))
}

fn undated(text: &str) -> RestError {
    let mut at = 0;
    for (place, letter) in text.chars().enumerate().take("uuuu.MM.dd".len()) {
        let fits = if matches!(place, 4 | 7) { letter == '.' } else { letter.is_ascii_digit() };
        if !fits {
            break;
        }
        at = place + 1;
    }
    // A number that is too short is wrong where it begins.
    let at = if at < 4 { 0 } else { at };
    let reason = format!("failed to parse date field [{text}] with format [8{FORMAT}]");
    let cause = RestError::new(Kind::DateTimeParse, format!("Text '{text}' could not be parsed at index {at}"));
    RestError::new(Kind::ElasticsearchParse, format!("{reason}: [{reason}]"))
        .caused_by(RestError::illegal(reason).caused_by(cause))
}

/// A moment by a pattern: letters stand for its parts, what is quoted for itself.
fn format(pattern: &str, moment: Moment) -> Result<String, RestError> {
    let mut text = String::new();
    let mut letters = pattern.strip_prefix('8').unwrap_or(pattern).chars().peekable();
    while let Some(letter) = letters.next() {
        let mut count = 1;
        while letter.is_ascii_alphabetic() && letters.next_if_eq(&letter).is_some() {
            count += 1;
        }
        match letter {
            '\'' => text.extend(letters.by_ref().take_while(|letter| *letter != '\'')),
            letter if letter.is_ascii_alphabetic() => match moment.part(letter, count) {
                Some(part) => text += &part,
                None => {
                    let why = format!("Illegal pattern component: {}", letter.to_string().repeat(count));
                    let reason = format!("Invalid format: [{pattern}]: {why}");
                    return Err(RestError::illegal(reason).caused_by(RestError::illegal(why)));
                }
            },
            letter => text.push(letter),
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25T10:20:30Z.
    const NOW: i64 = 1_795_602_030_000;

    fn read(name: &str) -> String {
        resolved(name, NOW).unwrap_or_else(|error| error.reason().to_owned())
    }

    #[test]
    fn a_name_stands_for_a_day() {
        let cases = [
            ("x", "x"),
            ("<x>", "x"),
            ("<x-{now/d}>", "x-2026.11.25"),
            ("<x-{now-3M/M}>", "x-2026.08.01"),
            ("<x-{now/w}>", "x-2026.11.23"),
            ("<x-{now+1y}>", "x-2027.11.25"),
            ("<x-{now-24h}>-{now/d}", "<x-{now-24h}>-{now/d}"),
            ("<x-{now{yyyy.MM}}-y>", "x-2026.11-y"),
            ("<x-{now{HH:mm|+05:30}}>", "x-15:50"),
            ("<x-{now{EEE}}>", "x-Wed"),
            ("<a\\{b-{now/d}>", "a{b-2026.11.25"),
            ("<x-{2020.02.29||+1y}>", "x-2021.02.28"),
        ];
        for (name, expected) in cases {
            assert_eq!(read(name), expected, "{name}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_name_is_told_as_elasticsearch_tells_it() {
        let cases = [
            ("<>", "nothing captured"),
            ("<x-{}>", "cannot parse empty date"),
            ("<x-{now/d>", "invalid dynamic name expression [x-{now/d>]. date math placeholder is open ended"),
            ("<x-{now+qM}>", "unit [q] not supported for date math [+qM]"),
            ("<x-{now+}>", "truncated date math [+]"),
            ("<x-{now1d}>", "operator not supported for date math [1d]"),
            ("<x-{now{}}>", "invalid dynamic name expression [now{}]. missing date format"),
            ("<x-{now{nope}}>", "Invalid format: [nope]: Illegal pattern component: n"),
            (
                "<x-{nope}>",
                "failed to parse date field [nope] with format [8uuuu.MM.dd]: [failed to parse date field [nope] with format \
                 [8uuuu.MM.dd]]",
            ),
        ];
        for (name, expected) in cases {
            assert_eq!(read(name), expected, "{name}");
        }
        // As many as fit into the head of a request.
        for far in ["+2147483647y", "-2147483647w", "+2147483647d/w"] {
            let told = read(&format!("<x-{{now{}}}>", far.repeat(4_000)));
            assert!(told.contains("9999"), "{far}: {told}");
        }
        assert!(read(&format!("<x-{{now{{{}}}}}>", "u".repeat(60_000))).starts_with("Invalid format"));
        assert!(read("<x}>").starts_with("invalid dynamic name expression [x}>]. invalid character at position [2]. "));
        assert_eq!(warnings("<x-{now{yyyy}}>").len(), 1);
        assert_eq!(warnings("<y-{now/d}>"), Vec::<String>::new());
    }
}
