//! Who a task belongs to.

use switchboard_core::Context;
use switchboard_layers::identity::principal;

/// The owner of the tasks that a caller sends to a tenant: callers are different ones for each tenant.
pub(super) fn owner(cx: &Context, tenant: Option<&str>) -> String {
    let principal = principal(cx);
    match tenant {
        None | Some("") => principal,
        // No issuer of identities has a name that begins like this. The length says where the tenant ends.
        Some(tenant) => format!("\0{} {tenant} {principal}", tenant.len()),
    }
}
