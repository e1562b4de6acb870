// SPDX-License-Identifier: GPL-2.0-or-later
//! Which form a client gets, by its `Accept`: the one with native histograms if it can read it. A
//! header that nobody understands gets text, which every scraper reads.

/// A form of the numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Prometheus' protocol buffers.
    Protobuf,
    /// OpenMetrics text.
    OpenMetrics,
    /// The same text for those that know only Prometheus' older one.
    Text,
}

impl Form {
    /// As HTTP names it.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; \
                 encoding=delimited"
            }
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// The form that a part of `Accept` means.
    fn of_media(media: &str, parameters: &[(&str, &str)]) -> Option<Self> {
        let is = |name, value: &str| parameters.iter().any(|p| p.0 == name && p.1 == value);
        match media {
            "application/vnd.google.protobuf"
                if is("proto", "io.prometheus.client.MetricFamily")
                    && is("encoding", "delimited") =>
            {
                Some(Self::Protobuf)
            }
            "application/openmetrics-text" => Some(Self::OpenMetrics),
            "text/plain" | "text/*" | "*/*" => Some(Self::Text),
            _ => None,
        }
    }
}

/// The form that is wanted most; of those that are wanted alike, the first.
pub fn choose_form(accept: &str) -> Form {
    let mut best = (0.0, Form::Text);
    for part in accept.split(',') {
        let mut words = part.split(';').map(str::trim);
        let media = words.next().unwrap_or_default().to_ascii_lowercase();
        let parameters: Vec<(&str, &str)> = words
            .filter_map(|word| word.split_once('='))
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let quality =
            parameters.iter().find(|p| p.0 == "q").map_or(Some(1.0), |p| p.1.parse().ok());
        let quality: f32 = quality.unwrap_or(0.0);
        if let Some(form) = Form::of_media(&media, &parameters)
            && quality > best.0
        {
            best = (quality, form);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_wanted_form_is_given() {
        let protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                        encoding=delimited";
        for (accept, want) in [
            ("", Form::Text),
            ("*/*", Form::Text),
            ("text/html, application/xhtml+xml;q=0.9", Form::Text),
            ("application/openmetrics-text; version=1.0.0", Form::OpenMetrics),
            (
                &format!("{protobuf};q=0.7,application/openmetrics-text;q=0.6,*/*;q=0.1"),
                Form::Protobuf,
            ),
            (&format!("text/plain;q=0.5, {protobuf};q=0.3"), Form::Text),
            ("application/vnd.google.protobuf;proto=other;encoding=delimited", Form::Text),
            ("application/openmetrics-text;q=nonsense", Form::Text),
            (";;;,,=,q=,\u{ff}", Form::Text),
        ] {
            assert_eq!(choose_form(accept), want, "{accept}");
        }
    }
}
