//! Pure. Days and dates of the Gregorian calendar, of any year.
//!
//! Not here: zones (`time.rs`).

/// Seconds of a day.
pub(super) const DAY: i64 = 86_400;

/// Returns the days from 1970-01-01 to a date; the month may lie outside 1 to 12, the day outside its month.
pub(super) fn days_from_date(year: i64, month: i64, day: i64) -> i64 {
    let months = year.wrapping_mul(12).wrapping_add(month.wrapping_sub(1));
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    // Years begin in March here, so that a leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month + 9) % 12;
    let day_of_year = (153 * month + 2) / 5;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era.wrapping_mul(146_097).wrapping_add(day_of_era).wrapping_sub(719_468).wrapping_add(day.wrapping_sub(1))
}

/// Returns year, month and day of a number of days from 1970-01-01.
pub(super) fn date_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days.wrapping_add(719_468);
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns how many days a month has.
pub(super) fn days_in(year: i64, month: i64) -> i64 {
    days_from_date(year, month + 1, 1) - days_from_date(year, month, 1)
}

#[cfg(test)]
mod tests {
    use super::{date_from_days, days_from_date, days_in};

    #[test]
    fn days_and_dates_are_one_another() {
        for days in [-719_528, -1, 0, 1, 59, 60, 11_016, 20_000, 2_932_896] {
            let (year, month, day) = date_from_days(days);
            assert_eq!(days_from_date(year, month, day), days, "{year}-{month}-{day}");
        }
        assert_eq!(date_from_days(0), (1970, 1, 1));
        assert_eq!((days_in(2024, 2), days_in(1900, 2), days_in(2023, 12)), (29, 28, 31));
        assert_eq!(days_from_date(2023, 14, 30), days_from_date(2024, 3, 1));
    }
}
