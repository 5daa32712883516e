//! Moments and their parts, for names of indices that stand for a day.
//!
//! What is beyond the years that are counted, 9999 in either direction, stays at their end. Mirrors what `java.time` does
//! for `JavaDateMathParser` (6.8), in UTC.

use time::{Date, Duration, Month, OffsetDateTime, PrimitiveDateTime};

/// The longest number that a pattern may ask for.
const DIGITS_MAX: usize = 9;

/// A part of time that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Year,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
}

impl Unit {
    pub(super) fn of(letter: char) -> Option<Unit> {
        Some(match letter {
            'y' => Unit::Year,
            'M' => Unit::Month,
            'w' => Unit::Week,
            'd' => Unit::Day,
            'h' | 'H' => Unit::Hour,
            'm' => Unit::Minute,
            's' => Unit::Second,
            _ => return None,
        })
    }
}

/// A moment in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(OffsetDateTime);

impl Moment {
    /// So many milliseconds after 1970.
    pub(super) fn at(millis: i64) -> Moment {
        Moment(OffsetDateTime::UNIX_EPOCH.saturating_add(Duration::milliseconds(millis)))
    }

    /// The midnight that a day begins with, if there is such a day.
    pub(super) fn of_day(year: i32, month: u8, day: u8) -> Option<Moment> {
        let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
        Some(Moment(date.midnight().assume_utc()))
    }

    /// How many milliseconds after 1970.
    pub(super) fn millis(self) -> i64 {
        let millis = (self.0 - OffsetDateTime::UNIX_EPOCH).whole_milliseconds();
        i64::try_from(millis).expect("ten thousand years have fewer than 2^49 milliseconds")
    }

    /// Goes on by so many of a unit, or back.
    pub(super) fn add(&mut self, unit: Unit, count: i32) {
        let count = i64::from(count);
        self.0 = match unit {
            Unit::Year => self.months_later(count * 12),
            Unit::Month => self.months_later(count),
            Unit::Week => self.0.saturating_add(Duration::weeks(count)),
            Unit::Day => self.0.saturating_add(Duration::days(count)),
            Unit::Hour => self.0.saturating_add(Duration::hours(count)),
            Unit::Minute => self.0.saturating_add(Duration::minutes(count)),
            Unit::Second => self.0.saturating_add(Duration::seconds(count)),
        };
    }

    /// The same day of another month, or its last one.
    fn months_later(self, count: i64) -> OffsetDateTime {
        let (year, month, day) = self.0.to_calendar_date();
        let months = i64::from(year) * 12 + i64::from(u8::from(month)) - 1 + count;
        let beyond = if count < 0 { PrimitiveDateTime::MIN } else { PrimitiveDateTime::MAX };
        let there = || {
            let year = i32::try_from(months.div_euclid(12)).ok()?;
            let month = Month::try_from(u8::try_from(months.rem_euclid(12) + 1).ok()?).ok()?;
            Date::from_calendar_date(year, month, day.min(month.length(year))).ok()
        };
        there().map_or(beyond.assume_utc(), |date| self.0.replace_date(date))
    }

    /// Goes back to where a unit begins.
    pub(super) fn round(&mut self, unit: Unit) {
        let now = self.0;
        let since = |days: u16| Duration::days(i64::from(days)) + (now.time() - time::Time::MIDNIGHT);
        let over = match unit {
            Unit::Year => since(now.ordinal() - 1),
            Unit::Month => since(u16::from(now.day()) - 1),
            Unit::Week => since(u16::from(now.weekday().number_days_from_monday())),
            Unit::Day => since(0),
            Unit::Hour => Duration::minutes(i64::from(now.minute())) + within_minute(now),
            Unit::Minute => within_minute(now),
            Unit::Second => Duration::nanoseconds(i64::from(now.nanosecond())),
        };
        self.0 = now.saturating_sub(over);
    }

    /// The part that a letter of a pattern stands for, by how often it stands there.
    pub(super) fn part(self, letter: char, count: usize) -> Option<String> {
        let now = self.0;
        let padded = |number: i64| format!("{number:0count$}");
        let short = |name: String| name.chars().take(3).collect::<String>();
        Some(match (letter, count) {
            (_, DIGITS_MAX..) => return None,
            ('u' | 'y' | 'Y', 2) => format!("{:02}", now.year().rem_euclid(100)),
            ('u' | 'y' | 'Y' | 'x', _) => padded(now.year().into()),
            ('M', 3) => short(now.month().to_string()),
            ('M', 1 | 2) => padded(u8::from(now.month()).into()),
            ('d', _) => padded(now.day().into()),
            ('D', _) => padded(now.ordinal().into()),
            ('E', 1..=3) => short(now.weekday().to_string()),
            ('H', _) => padded(now.hour().into()),
            ('h', _) => padded((i64::from(now.hour()) + 11) % 12 + 1),
            ('m', _) => padded(now.minute().into()),
            ('s', _) => padded(now.second().into()),
            ('S', 1..=3) => format!("{:03}", now.millisecond()).chars().take(count).collect(),
            _ => return None,
        })
    }
}

/// How much of its minute a moment has behind it.
fn within_minute(moment: OffsetDateTime) -> Duration {
    Duration::seconds(moment.second().into()) + Duration::nanoseconds(moment.nanosecond().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MILLIS: i64 = 86_400_000;

    #[test]
    fn days_are_counted_there_and_back() {
        for (days, (year, month, day)) in
            [(0, (1970, 1, 1)), (20_782, (2026, 11, 25)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29))]
        {
            let moment = Moment::of_day(year, month, day).expect("it is a day");
            assert_eq!(moment, Moment::at(days * DAY_MILLIS));
            assert_eq!(moment.millis(), days * DAY_MILLIS);
        }
        assert_eq!(Moment::of_day(2026, 2, 29), None);
    }

    #[test]
    fn units_begin_somewhere() {
        let start = Moment::at(20_782 * DAY_MILLIS + 37_230_123);
        let rounded = |unit| {
            let mut moment = start;
            moment.round(unit);
            let parts = [('u', 4), ('M', 2), ('d', 2), ('H', 2), ('m', 2), ('s', 2), ('S', 3)];
            parts.map(|(letter, count)| moment.part(letter, count).unwrap_or_default()).join(" ")
        };
        assert_eq!(rounded(Unit::Year), "2026 01 01 00 00 00 000");
        assert_eq!(rounded(Unit::Month), "2026 11 01 00 00 00 000");
        assert_eq!(rounded(Unit::Week), "2026 11 23 00 00 00 000");
        assert_eq!(rounded(Unit::Hour), "2026 11 25 10 00 00 000");
        assert_eq!(rounded(Unit::Minute), "2026 11 25 10 20 00 000");
        assert_eq!(rounded(Unit::Second), "2026 11 25 10 20 30 000");
    }

    #[test]
    fn whoever_goes_too_far_stays_at_the_end_of_time() {
        for unit in [Unit::Year, Unit::Month, Unit::Week, Unit::Day, Unit::Hour, Unit::Minute, Unit::Second] {
            for count in [i32::MAX, i32::MIN] {
                let mut moment = Moment::at(0);
                (0..20_000).for_each(|_| moment.add(unit, count));
                moment.round(Unit::Week);
                let year: i64 = moment.part('u', 4).and_then(|year| year.parse().ok()).expect("it has a year");
                assert_eq!(year.abs(), 9_999, "{unit:?} {count}");
                assert!(moment.millis().abs() < 1 << 49);
            }
        }
        assert_eq!(Moment::at(0).part('u', 60_000), None, "no name is that long");
    }
}
