//! The OpenMetrics format, converted from Prometheus' text format.

/// The media type of the format.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Whether an `Accept` header accepts the format.
pub(super) fn is_accepted(accept: &str) -> bool {
    accept.split(',').any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let is_format = parts.next() == Some("application/openmetrics-text");
        is_format && !parts.any(|parameter| matches!(parameter, "q=0" | "q=0.0"))
    })
}

/// Converts a page: the metadata of a counter has its name without `_total`, one that has no such name is of unknown type, and
/// the page has an end.
pub(super) fn of_prometheus(page: &str) -> String {
    let mut converted = String::with_capacity(page.len() + 8);
    let mut help = None;
    for line in page.lines() {
        // Help precedes the type, which determines its name.
        if line.starts_with("# HELP ") {
            help = Some(line);
            continue;
        }
        let counter = line.strip_prefix("# TYPE ").and_then(|rest| rest.strip_suffix(" counter"));
        let family = counter.and_then(|name| Some((name, name.strip_suffix("_total")?)));
        let unknown = counter.filter(|_| family.is_none());
        let unknown = unknown.map(|name| format!("# TYPE {name} unknown"));
        let line = unknown.as_deref().unwrap_or(line);
        for line in help.take().into_iter().chain([line]) {
            match family {
                Some((name, family)) => converted.push_str(&line.replacen(name, family, 1)),
                None => converted.push_str(line),
            }
            converted.push('\n');
        }
    }
    converted.push_str("# EOF\n");
    converted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_lose_their_suffix_and_nothing_else_does() {
        let page = "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\"} 1\n\
                    # HELP d_total D.\n# TYPE d_total histogram\nd_total_sum 2\n\
                    # HELP e E.\n# TYPE e counter\ne 3\n";
        let expected = "# HELP a A.\n# TYPE a counter\na_total{b=\"c\"} 1\n\
                        # HELP d_total D.\n# TYPE d_total histogram\nd_total_sum 2\n\
                        # HELP e E.\n# TYPE e unknown\ne 3\n# EOF\n";
        assert_eq!(of_prometheus(page), expected);
    }

    #[test]
    fn the_format_is_negotiated() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1";
        assert!(is_accepted(prometheus));
        for accept in ["*/*", "text/plain", "application/openmetrics-text;q=0"] {
            assert!(!is_accepted(accept), "{accept}");
        }
    }
}
