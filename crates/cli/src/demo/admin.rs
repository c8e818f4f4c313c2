//! Methods that not everyone may call.

use switchboard::access::Access;
use switchboard::{Context, ErrorObject, service};

/// The methods for administrators.
pub(super) struct Admin {
    /// Who may call them where no configuration says so.
    access: Access,
}

impl Default for Admin {
    fn default() -> Admin {
        let rule = |who: &str| {
            let methods = "admin/**".parse().expect("the pattern is valid");
            switchboard::access::Rule::allow([methods], [who.parse().expect("the caller is valid")])
        };
        Admin { access: Access::new([rule("local"), rule("role:admin"), rule("scope:admin")]) }
    }
}

#[service(namespace = "admin")]
impl Admin {
    /// Pretends to restart the server. Answers only callers on the same machine, and those with the role or scope `admin`.
    #[method(name = "restartServer", tag = "security")]
    #[mcp(tool = false)]
    fn restart_server(&self, cx: &Context) -> Result<&'static str, ErrorObject> {
        if !self.access.decide(cx, "admin/restartServer", None).is_allowed() {
            return Err(ErrorObject::unauthorized());
        }
        tracing::info!("a restart was asked for; this demo does not restart");
        Ok("restarting")
    }
}

#[cfg(test)]
mod tests {
    use switchboard::Origin;
    use switchboard::identity::{Identity, Proof};

    use super::*;

    #[test]
    fn only_callers_on_this_machine_and_administrators_restart_the_server() {
        let cx = |address: &str| Context::new(Origin::new("http").with_address(address.parse().unwrap()));
        let ask = |cx: &Context| Admin::default().restart_server(cx).is_ok();
        assert!(ask(&cx("127.0.0.1:5")) && ask(&cx("[::1]:5")) && !ask(&cx("192.0.2.1:5")));
        let mut remote = cx("192.0.2.1:5");
        Identity::new("alice", Proof::Token).with_roles(["admin"]).attach(&mut remote);
        assert!(ask(&remote));
    }
}
