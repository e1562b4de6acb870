// SPDX-License-Identifier: GPL-2.0-or-later
//! What every verb of the shield begins with.

use irqpath_model::SCHEMA_VERSION;
use irqpath_model::shield::Document;
use irqpath_source::launch::set_scheduling;
use irqpath_system::Host;
use irqpath_system::change::RealAccess;

/// This machine, and the way to change it.
pub fn open_host() -> (Host, RealAccess) {
    let host = Host::real();
    let access = RealAccess::new(&host).with_scheduling(set_scheduling);
    (host, access)
}

/// A document without content.
pub fn empty_document() -> Document {
    Document { schema_version: SCHEMA_VERSION, ..Document::default() }
}
