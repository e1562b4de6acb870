// SPDX-License-Identifier: GPL-2.0-or-later
//! The frame of every page: a head that forbids whatever would come from elsewhere, and a body.
//!
//! maud escapes what stands between tags. A browser obeys controls of direction, too, so a body
//! with foreign text goes through [`escape_markup`]; [`super::json`] does that for data.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::guard::escape_control;

/// What else a page needs as it came: its style, its script, or a body from `assets/`.
pub const fn pre_escaped(text: &str) -> PreEscaped<&str> {
    PreEscaped(text)
}

/// A whole page. `policy` is what may stand in it besides its style and its script.
pub fn render_document(title: &str, policy: &str, styles: &[&str], body: &Markup) -> String {
    let policy = format!(
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; {policy}; \
         base-uri 'none'; form-action 'none'"
    );
    let page = html! {
        (DOCTYPE) "\n"
        (pre_escaped("<!-- SPDX-License-Identifier: GPL-2.0-or-later -->\n"))
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { @for style in styles { (pre_escaped(style)) } }
            }
            "\n"
            body { (body) }
        }
        "\n"
    };
    page.into_string()
}

/// The same with every character shown that a browser would obey.
pub fn escape_markup(markup: Markup) -> Markup {
    PreEscaped(escape_control(&markup.into_string(), false))
}
