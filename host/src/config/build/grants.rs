//! Grants: templates of folders and variables, and whether they go together.
//!
//! Compares paths as they are written; links and folders that aren't there are found later.

use std::path::PathBuf;

use super::super::check::near;
use super::super::error::shown;
use super::super::schema::sections_in;
use super::super::secrets::SecretSettings;
use super::super::settings::{PluginSettings, UpstreamSettings};
use super::super::templates::{
    DirTemplate, EnvTemplate, GrantTemplate, HostGrant, Lie, Template, lie,
};
use super::super::value::{Node, Value};
use super::upstream::secrets_of;
use super::{Build, Reader};
use crate::contract::grants::DirMode;

impl Build<'_> {
    /// The grants of one section, each checked against the others of the section.
    pub(super) fn grants(&mut self, grants: Reader<'_>, secrets: &[String]) -> GrantTemplate {
        let mut template = GrantTemplate::default();
        for node in grants.list("dirs") {
            let Some(dir) = self.dir(grants, node) else { continue };
            for other in &template.dirs {
                self.meet(other, &dir, "");
            }
            template.dirs.push(dir);
        }
        for (name, node) in grants.entries("env") {
            let Value::Text(text) = &node.value else { continue };
            if let Ok(value) = Template::parse(text) {
                template.env.push(EnvTemplate { name: name.clone(), value });
            }
        }
        for node in grants.list("hosts") {
            template.hosts.extend(host(grants, node));
        }
        if let Some(first) = grants.list("hosts").first() {
            self.find(first.line, "`hosts` has no effect in this version: http is never granted");
        }
        for node in grants.list("secrets") {
            let Value::Text(name) = &node.value else { continue };
            self.known_secret(name, node.line, secrets);
            template.secrets.push(name.clone());
        }
        template
    }

    fn dir(&mut self, grants: Reader<'_>, node: &Node) -> Option<DirTemplate> {
        let (path, guest, mode) = match &node.value {
            Value::Text(path) => (path.clone(), None, DirMode::ReadOnly),
            Value::Table(_) => {
                let dir = inner(grants, "dirs", node)?;
                let writable = dir.text("mode").as_deref() == Some("rw");
                let mode = if writable { DirMode::ReadWrite } else { DirMode::ReadOnly };
                (dir.text("path")?, dir.text("guest"), mode)
            }
            _ => return None,
        };
        let template = Template::parse(&path).ok()?;
        let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if guest.is_none() && Template::parse(last).is_ok_and(|last| !last.is_fixed()) {
            let path = shown(&path);
            self.problems.push(
                node.line,
                format!(
                    "`{path}` has a placeholder as its name: say with `guest` where plugins see it"
                ),
            );
        }
        let (folder, line) = (self.known.folder.to_owned(), node.line);
        Some(DirTemplate { folder, line, path: template, guest, mode })
    }

    /// Two folders that one plugin has: at one place, or one in the other with another mode.
    fn meet(&mut self, old: &DirTemplate, new: &DirTemplate, plugin: &str) {
        let line = new.line;
        let (a, b) = (shown(old.path.source()), shown(new.path.source()));
        let to = if plugin.is_empty() { String::new() } else { format!(" to `{plugin}`") };
        if let Some(guest) = guest(new).filter(|it| guest(old).as_ref() == Some(it)) {
            let guest = shown(&guest);
            self.problems.push(
                line,
                format!(
                    "`{a}` and `{b}` are both granted{to} as `{guest}`: give one another `guest`"
                ),
            );
        }
        if old.mode == new.mode {
            return;
        }
        match lie(old, new) {
            Lie::Apart => {}
            Lie::Overlap => self.problems.push(
                line,
                format!(
                    "`{a}` and `{b}` overlap with different modes: give both one `mode`, or grant \
                     one of them"
                ),
            ),
            Lie::Perhaps => self.find(
                line,
                format!(
                    "`{a}` and `{b}` overlap for some callers, with different modes: their calls \
                     are refused"
                ),
            ),
        }
    }

    /// What a plugin has of its own against what every plugin has.
    pub(super) fn grants_meet(&mut self, plugin: &str, every: &GrantTemplate, own: &GrantTemplate) {
        for dir in &own.dirs {
            for other in &every.dirs {
                self.meet(other, dir, plugin);
            }
        }
    }

    fn known_secret(&mut self, name: &str, line: u32, secrets: &[String]) {
        if secrets.iter().any(|secret| secret == name) {
            return;
        }
        let meant = match near::nearest(name, secrets) {
            Some(near) => format!(", did you mean `{}`?", shown(&near)),
            None => ": expected a name under `secrets`".to_owned(),
        };
        let name = shown(name);
        self.problems.push(line, format!("there is no secret `{name}`{meant}"));
    }

    /// Secrets that nothing names.
    pub(super) fn unused(
        &mut self,
        secrets: &[SecretSettings],
        every: &GrantTemplate,
        plugins: &[PluginSettings],
        upstream: &[UpstreamSettings],
    ) {
        let handed = secrets_of(upstream);
        for secret in secrets.iter().filter(|secret| !handed.contains(&secret.name.as_str())) {
            let granted = |grants: &GrantTemplate| grants.secrets.contains(&secret.name);
            let name = shown(&secret.name);
            if granted(every) || plugins.iter().any(|plugin| granted(&plugin.grants)) {
                self.find(
                    secret.line,
                    format!(
                        "the secret `{name}` is granted, which has no effect in this version: it \
                         is redacted in records, and added to nothing"
                    ),
                );
            } else {
                self.find(
                    secret.line,
                    format!("the secret `{name}` is granted to no plugin: it is only redacted"),
                );
            }
        }
    }
}

/// The table of a list whose values may be tables.
fn inner<'a>(grants: Reader<'_>, key: &str, node: &'a Node) -> Option<Reader<'a>> {
    let (_, section) = sections_in(&grants.section.key(key)?.kind).into_iter().next()?;
    match &node.value {
        Value::Table(table) => Some(Reader { section, table }),
        _ => None,
    }
}

fn host(grants: Reader<'_>, node: &Node) -> Option<HostGrant> {
    let empty = Node { line: node.line, value: Value::Table(super::EMPTY.clone()) };
    match &node.value {
        Value::Text(host) => {
            let methods = inner(grants, "hosts", &empty)?.texts("methods")?;
            Some(HostGrant { host: host.clone(), methods })
        }
        _ => {
            let host = inner(grants, "hosts", node)?;
            Some(HostGrant { host: host.text("host")?, methods: host.texts("methods")? })
        }
    }
}

/// Where a plugin will see a folder, as far as the file tells.
fn guest(dir: &DirTemplate) -> Option<String> {
    if let Some(guest) = &dir.guest {
        return Some(guest.clone());
    }
    let last = PathBuf::from(dir.path.source());
    let name = last.file_name()?.to_str()?;
    let name = Template::parse(name).ok().filter(Template::is_fixed)?;
    Some(format!("/{}", name.fill(&crate::contract::approval::CallerContext::default()).ok()?))
}
