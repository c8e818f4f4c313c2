//! Programs that steps need beside cargo: found, installed where that is ours to do, or named.

use std::sync::OnceLock;

use crate::program::{Program, find};
use crate::step::Failure;

/// A program some step needs.
pub(crate) struct Need {
    /// The programs that will do, any one of them.
    programs: &'static [&'static str],
    /// The package that brings the first of them, by its name in Debian and Ubuntu.
    package: &'static str,
    /// What it is for, to complete "needed to …".
    purpose: &'static str,
    /// The arguments with which it ends well if it is complete; none means that being there is enough.
    proof: &'static [&'static str],
}

/// Lists the tracked files.
pub(crate) const GIT: Need =
    Need { programs: &["git"], package: "git", purpose: "list the files of the repository", proof: &[] };

/// Builds libFuzzer, which is C++.
pub(crate) const CXX: Need = Need {
    programs: &["c++", "g++", "clang++"],
    package: "g++",
    purpose: "build libFuzzer for the fuzz targets",
    proof: &[],
};

/// Calls over HTTP in the tests, as a client that is not ours.
pub(crate) const CURL: Need = Need {
    programs: &["curl"],
    package: "curl",
    purpose: "test HTTP with an independent client",
    proof: &[],
};

/// Makes certificates, as the page on deploying says.
pub(crate) const OPENSSL: Need = Need {
    programs: &["openssl"],
    package: "openssl",
    purpose: "run the commands of docs/deploying.md",
    proof: &[],
};

/// Stands before a server, as the page on deploying says.
pub(crate) const NGINX: Need = Need {
    programs: &["nginx"],
    package: "nginx",
    purpose: "run the commands of docs/deploying.md",
    proof: &[],
};

/// Collects metrics.
pub(crate) const PROMETHEUS: Need = Need {
    programs: &["prometheus"],
    package: "prometheus",
    purpose: "test metrics, the dashboard and the alerts",
    proof: &["--version"],
};

/// Keeps what servers share.
pub(crate) const NATS: Need = Need {
    programs: &["nats-server"],
    package: "nats-server",
    purpose: "test stores that several machines share",
    proof: &["--version"],
};

/// Shows the playground.
pub(crate) const CHROMIUM: Need = Need {
    programs: &["chromium", "chromium-browser"],
    package: "chromium",
    purpose: "test the playground in a browser",
    proof: &["--version"],
};

/// Runs the programs of others that are written for it.
pub(crate) const NODE: Need = Need {
    programs: &["node"],
    package: "nodejs",
    purpose: "test against other libraries",
    proof: &["--version"],
};

/// Installs libraries for Node.
pub(crate) const NPM: Need =
    Need { programs: &["npm"], package: "npm", purpose: "install libraries for Node", proof: &["--version"] };

/// Runs the programs of others that are written for it. Some systems leave out what makes an environment for them.
pub(crate) const PYTHON: Need = Need {
    programs: &["python3"],
    package: "python3-venv",
    purpose: "test against other libraries",
    proof: &["-c", "import ensurepip, venv"],
};

/// Builds C for a static program.
pub(crate) const MUSL: Need = Need {
    programs: &["musl-gcc"],
    package: "musl-tools",
    purpose: "build a static program, as docs/installing.md says",
    proof: &[],
};

/// Counts instructions.
pub(crate) const VALGRIND: Need =
    Need { programs: &["valgrind"], package: "valgrind", purpose: "count instructions", proof: &[] };

impl Need {
    /// Makes sure that the program is there. Installs it if it is missing and we are root on a system with
    /// `apt-get`; otherwise fails and names what to install.
    pub(crate) fn ensure(&self) -> Result<(), Failure> {
        if self.is_met() {
            return Ok(());
        }
        if find("apt-get").is_none() || !is_root() {
            return Err(self.missing());
        }
        println!("  {} is missing, installing the package {}", self.programs[0], self.package);
        update_package_lists();
        apt_get(&["install", "-y", self.package])
            .run()
            .map_err(|failure| failure.advise(format!("install the package {} by hand", self.package)))?;
        if self.is_met() { Ok(()) } else { Err(self.missing()) }
    }

    fn is_met(&self) -> bool {
        let is_complete = |program: &str| {
            self.proof.is_empty() || Program::new(program).args(self.proof.to_vec()).succeeds()
        };
        self.programs.iter().any(|program| find(program).is_some() && is_complete(program))
    }

    fn missing(&self) -> Failure {
        let Self { programs, package, purpose, proof } = self;
        let what = if proof.is_empty() { "missing" } else { "missing or not complete" };
        Failure::new(
            format!("{} is {what}, needed to {purpose}", programs.join(" or ")),
            format!("install it, on Debian or Ubuntu with `sudo apt-get install {package}`"),
        )
    }
}

/// Whether `cargo nextest` is installed. It is optional: without it the tests run with `cargo test`.
pub(crate) fn has_nextest() -> bool {
    Program::cargo("nextest --version").succeeds()
}

/// Refreshes the package lists, once a run. A failure shows when the installation fails.
fn update_package_lists() {
    static UPDATED: OnceLock<()> = OnceLock::new();
    UPDATED.get_or_init(|| {
        if let Err(failure) = apt_get(&["update", "-q"]).run() {
            println!("  {failure}");
        }
    });
}

fn apt_get(args: &[&str]) -> Program {
    Program::new("apt-get").args(args.iter().copied()).env("DEBIAN_FRONTEND", "noninteractive")
}

fn is_root() -> bool {
    Program::new("id").arg("-u").output().is_ok_and(|id| id.trim() == "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_with_the_package_that_brings_it() {
        let text = CXX.missing().to_string();
        assert!(text.contains("c++ or g++ or clang++ is missing, needed to build libFuzzer"), "{text}");
        assert!(text.contains("apt-get install g++"), "{text}");
    }

    #[test]
    fn a_program_that_does_not_prove_itself_counts_as_missing() {
        let need = |proof| Need { programs: &["cargo"], package: "cargo", purpose: "test", proof };
        assert!(need(&[]).is_met());
        assert!(need(&["--version"]).is_met());
        assert!(!need(&["no-such-command"]).is_met());
    }
}
