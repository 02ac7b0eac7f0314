//! Pure. Numbers as Go prints them, which is what kustomize prints and what kubectl makes of numeric keys.
//!
//! Not here: reading numbers (`scalar.rs`).

/// Returns a float in the shortest form, as Go's `FormatFloat(f, 'g', -1, 64)` does.
pub(super) fn float(value: f64) -> String {
    general(&format!("{value:e}"), &value.to_string())
}

/// Returns a float in the shortest form that still names the nearest 32-bit float; kubectl writes numeric keys so.
pub(super) fn short_float(value: f64) -> String {
    match value.to_string().parse::<f32>() {
        Ok(short) => general(&format!("{short:e}"), &short.to_string()),
        Err(_) => float(value),
    }
}

/// Chooses between the scientific and the plain form.
fn general(scientific: &str, plain: &str) -> String {
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return plain.to_owned() };
    let Ok(exponent) = exponent.parse::<i32>() else { return plain.to_owned() };
    if (-4..PLAIN_BELOW).contains(&exponent) {
        return plain.to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// Exponent from which Go's shortest general form turns scientific.
const PLAIN_BELOW: i32 = 6;
