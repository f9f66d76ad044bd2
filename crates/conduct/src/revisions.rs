//! Which state of its application each case is measured in.

use std::collections::BTreeMap;

use stampede_core::Candidate;
use stampede_harness::Prepared;

use crate::host::Host;

/// Adds it to the cases, which are of these candidates: their folders lie where their authors keep them.
pub(crate) async fn add(host: &dyn Host, prepared: &mut [Prepared], candidates: &[Candidate]) {
    let mut known = BTreeMap::new();
    for Prepared { case, .. } in prepared {
        let Some(candidate) = candidates.iter().find(|candidate| candidate.id == case.id) else { continue };
        let folder = &candidate.app.source;
        if folder.as_os_str().is_empty() {
            // An image has none that is known.
            continue;
        }
        if !known.contains_key(folder) {
            known.insert(folder, host.revision(folder).await);
        }
        case.revision = known.get(folder).cloned().flatten();
    }
}
