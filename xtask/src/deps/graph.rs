//! `cargo metadata` as a graph of packages, reduced to what the rules ask.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::publishing;
use crate::workspace::{list, text};

/// A package: one of ours, or one we depend on.
#[derive(Debug, Default)]
pub(super) struct Package {
    pub(super) id: String,
    pub(super) name: String,
    /// The SPDX expression, if the package states one.
    pub(super) licence: Option<String>,
    /// Where it comes from; nothing for a package in this repository.
    pub(super) source: Option<String>,
    /// The oldest Rust that builds it, if it states one.
    pub(super) rust_version: Option<String>,
    /// Whether it may go to a registry.
    pub(super) is_published: bool,
    /// The path of its manifest.
    pub(super) manifest: String,
    /// Which of the keys that a published package needs are absent.
    pub(super) missing_keys: Vec<&'static str>,
    /// What its manifest asks for.
    pub(super) requires: Vec<Requirement>,
}

/// A dependency as a manifest asks for it.
#[derive(Debug)]
pub(super) struct Requirement {
    pub(super) name: String,
    pub(super) dev: bool,
    pub(super) features: Vec<String>,
}

/// The packages and the dependencies between them, as resolved.
#[derive(Debug, Default)]
pub(super) struct Graph {
    packages: BTreeMap<String, Package>,
    ours: BTreeSet<String>,
    /// By the id of a package, the ids of what it uses to build and run.
    uses: BTreeMap<String, BTreeSet<String>>,
    /// By the id of a package, the ids of what it uses in any way, tests included.
    uses_at_all: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Reads the graph. What is absent counts as empty.
    pub(super) fn parse(metadata: &Value) -> Self {
        let mut graph = Self::default();
        for value in list(metadata, "packages") {
            let package = package(value);
            graph.packages.insert(package.id.clone(), package);
        }
        graph.ours = strings(metadata, "workspace_members").into_iter().collect();
        for node in list(&metadata["resolve"], "nodes") {
            let (mut uses, mut uses_at_all) = (BTreeSet::new(), BTreeSet::new());
            for dependency in list(node, "deps") {
                let id = text(dependency, "pkg").to_owned();
                if list(dependency, "dep_kinds").any(|kind| kind["kind"] != "dev") {
                    uses.insert(id.clone());
                }
                uses_at_all.insert(id);
            }
            graph.uses.insert(text(node, "id").to_owned(), uses);
            graph.uses_at_all.insert(text(node, "id").to_owned(), uses_at_all);
        }
        graph
    }

    /// All packages.
    pub(super) fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The packages of this workspace.
    pub(super) fn ours(&self) -> impl Iterator<Item = &Package> {
        self.ours.iter().filter_map(|id| self.packages.get(id))
    }

    /// What a package uses to build and run.
    pub(super) fn used_by(&self, package: &Package) -> impl Iterator<Item = &Package> {
        self.uses.get(&package.id).into_iter().flatten().filter_map(|id| self.packages.get(id))
    }

    /// Who uses a package in any way.
    pub(super) fn users(&self, package: &Package) -> impl Iterator<Item = &Package> {
        let users = self.uses_at_all.iter().filter(|(_, used)| used.contains(&package.id));
        users.filter_map(|(id, _)| self.packages.get(id))
    }

    /// For each package that this one reaches, itself included, a shortest path to it.
    pub(super) fn paths_from<'a>(&'a self, start: &'a Package) -> impl Iterator<Item = Vec<&'a Package>> {
        let mut seen = BTreeSet::from([start.id.as_str()]);
        let mut queue = VecDeque::from([vec![start]]);
        std::iter::from_fn(move || {
            let path = queue.pop_front()?;
            for next in path.last().into_iter().flat_map(|last| self.used_by(last)) {
                if seen.insert(&next.id) {
                    let mut longer = path.clone();
                    longer.push(next);
                    queue.push_back(longer);
                }
            }
            Some(path)
        })
    }
}

fn package(value: &Value) -> Package {
    Package {
        id: text(value, "id").to_owned(),
        name: text(value, "name").to_owned(),
        licence: value["license"].as_str().map(str::to_owned),
        source: value["source"].as_str().map(str::to_owned),
        rust_version: value["rust_version"].as_str().map(str::to_owned),
        is_published: value["publish"].as_array().is_none_or(|registries| !registries.is_empty()),
        manifest: text(value, "manifest_path").to_owned(),
        missing_keys: publishing::KEYS.iter().copied().filter(|key| text(value, key).is_empty()).collect(),
        requires: list(value, "dependencies").map(requirement).collect(),
    }
}

fn requirement(value: &Value) -> Requirement {
    Requirement {
        name: text(value, "name").to_owned(),
        dev: value["kind"] == "dev",
        features: strings(value, "features"),
    }
}

fn strings(value: &Value, key: &str) -> Vec<String> {
    list(value, key).filter_map(Value::as_str).map(str::to_owned).collect()
}
