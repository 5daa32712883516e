//! Days and their parts, for names of indices that stand for a day.
//!
//! Mirrors what `java.time` does for `JavaDateMathParser` (6.8), in UTC.

const DAY_MILLIS: i64 = 86_400_000;

const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// 1970 began on a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];

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
    /// The unit that a letter stands for.
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

    /// How long it is, where it always is as long.
    fn millis(self) -> Option<i64> {
        match self {
            Unit::Year | Unit::Month => None,
            Unit::Week => Some(7 * DAY_MILLIS),
            Unit::Day => Some(DAY_MILLIS),
            Unit::Hour => Some(3_600_000),
            Unit::Minute => Some(60_000),
            Unit::Second => Some(1_000),
        }
    }
}

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Day {
    year: i64,
    month: i64,
    day: i64,
}

impl Day {
    /// The day of this date, if there is one.
    pub(super) fn of(year: i64, month: i64, day: i64) -> Option<Day> {
        let is_one = (1..=12).contains(&month) && (1..=length(year, month)).contains(&day);
        is_one.then_some(Day { year, month, day })
    }

    /// Years are counted from March, so that a leap day is the last of its year.
    fn since_1970(days: i64) -> Day {
        let days = days + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Day { year: year_of_era + era * 400 + i64::from(month <= 2), month, day }
    }

    fn days(self) -> i64 {
        let year = self.year - i64::from(self.month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((self.month + 9) % 12) + 2) / 5 + self.day - 1;
        era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
    }

    /// Its midnight, in milliseconds since 1970.
    pub(super) fn millis(self) -> i64 {
        self.days() * DAY_MILLIS
    }

    /// So many months later; the day is one that the month has.
    fn months_later(self, months: i64) -> Day {
        let months = self.year * 12 + self.month - 1 + months;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
        Day { year, month, day: self.day.min(length(year, month)) }
    }
}

/// How many days a month has.
fn length(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// A day, and how many milliseconds of it are over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    day: Day,
    millis: i64,
}

impl Moment {
    /// So many milliseconds after 1970.
    pub(super) fn at(millis: i64) -> Moment {
        Moment { day: Day::since_1970(millis.div_euclid(DAY_MILLIS)), millis: millis.rem_euclid(DAY_MILLIS) }
    }

    /// How many milliseconds after 1970.
    pub(super) fn millis(self) -> i64 {
        self.day.millis() + self.millis
    }

    /// Goes on by so many of a unit, or back. What is beyond all years that are counted stays at their end.
    pub(super) fn add(&mut self, unit: Unit, count: i64) {
        match unit.millis() {
            Some(length) => *self = Moment::at(self.millis().saturating_add(count * length)),
            None => self.day = self.day.months_later(if unit == Unit::Year { count * 12 } else { count }),
        }
    }

    /// Goes back to where a unit begins.
    pub(super) fn round(&mut self, unit: Unit) {
        match unit {
            Unit::Year => *self = Moment { day: Day { month: 1, day: 1, ..self.day }, millis: 0 },
            Unit::Month => *self = Moment { day: Day { day: 1, ..self.day }, millis: 0 },
            Unit::Week => {
                let since_monday = (self.day.days() + 3).rem_euclid(7);
                *self = Moment::at((self.day.days() - since_monday) * DAY_MILLIS);
            }
            Unit::Day | Unit::Hour | Unit::Minute | Unit::Second => {
                let length = unit.millis().unwrap_or(1);
                self.millis -= self.millis % length;
            }
        }
    }

    /// The part that a letter of a pattern stands for, by how often it stands there.
    pub(super) fn part(self, letter: char, count: usize) -> Option<String> {
        let Day { year, month, day } = self.day;
        let padded = |number: i64| format!("{number:0count$}");
        let weekday = WEEKDAYS[self.day.days().rem_euclid(7) as usize];
        let hour = self.millis / 3_600_000;
        Some(match (letter, count) {
            ('u' | 'y' | 'Y', 2) => format!("{:02}", year.rem_euclid(100)),
            ('u' | 'y' | 'Y' | 'x', _) => padded(year),
            ('M', 3) => MONTHS[month as usize - 1].to_owned(),
            ('M', 1 | 2) => padded(month),
            ('d', _) => padded(day),
            ('D', _) => padded(self.day.days() - Day { month: 1, day: 1, ..self.day }.days() + 1),
            ('E', 1..=3) => weekday.to_owned(),
            ('H', _) => padded(hour),
            ('h', _) => padded((hour + 11) % 12 + 1),
            ('m', _) => padded(self.millis / 60_000 % 60),
            ('s', _) => padded(self.millis / 1_000 % 60),
            ('S', 1..=3) => format!("{:03}", self.millis % 1_000)[..count].to_owned(),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_counted_there_and_back() {
        for (days, date) in [(0, (1970, 1, 1)), (20_782, (2026, 11, 25)), (-1, (1969, 12, 31)), (11_016, (2000, 2, 29))]
        {
            let (year, month, day) = date;
            assert_eq!(Day::since_1970(days), Day { year, month, day });
            assert_eq!(Day::of(year, month, day).map(Day::days), Some(days));
        }
        assert_eq!(Day::of(2026, 2, 29), None);
    }

    #[test]
    fn units_begin_somewhere() {
        let start = Moment::at(20_782 * DAY_MILLIS + 37_230_000);
        let rounded = |unit| {
            let mut moment = start;
            moment.round(unit);
            [('u', 4), ('M', 2), ('d', 2), ('H', 2), ('m', 2)]
                .map(|(letter, count)| moment.part(letter, count))
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(rounded(Unit::Year), "2026 01 01 00 00");
        assert_eq!(rounded(Unit::Week), "2026 11 23 00 00");
        assert_eq!(rounded(Unit::Hour), "2026 11 25 10 00");
    }
}
