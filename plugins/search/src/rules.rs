//! The ignore files that count in a folder: its own and those of the folders above it.
//!
//! Decides about one entry; what an ignored folder hides is the walk's to know.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::limit::IGNORE_FILE_MAX_BYTES;
use crate::location::openable;

/// The names of ignore files, the stronger first: what `.ignore` decides, `.gitignore` can't undo.
pub(crate) const IGNORE_FILES: [&str; 2] = [".ignore", ".gitignore"];

/// The rules in force, from the outermost folder to the innermost.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    sets: Vec<RuleSet>,
    /// Ignore files that could not be read, or are over [`IGNORE_FILE_MAX_BYTES`].
    pub(crate) unreadable: u32,
}

/// One ignore file's rules.
#[derive(Debug)]
struct RuleSet {
    folder: PathBuf,
    name: &'static str,
    matcher: Gitignore,
}

impl Rules {
    /// The rules of the folders above `folder`, as far up as the repository it lies in.
    pub(crate) fn above(folder: &Path) -> Self {
        let mut rules = Self::default();
        // With `..` in it, the folders above can't be told from the path alone.
        if folder.components().any(|part| part == Component::ParentDir) || is_repository(folder) {
            return rules;
        }
        let mut above = Vec::new();
        for parent in folder.ancestors().skip(1) {
            above.push(parent);
            if is_repository(parent) {
                break;
            }
        }
        for parent in above.into_iter().rev() {
            for name in IGNORE_FILES {
                // Regular files only: opening a pipe would wait for a writer.
                if fs::symlink_metadata(parent.join(name)).is_ok_and(|found| found.is_file()) {
                    rules.enter(parent, name);
                }
            }
        }
        rules
    }

    /// Adds the rules of the regular file `name` in `folder`.
    pub(crate) fn enter(&mut self, folder: &Path, name: &'static str) {
        match read_rules(&folder.join(name)) {
            Ok(text) => self.sets.push(RuleSet {
                folder: folder.to_owned(),
                name,
                matcher: parse_rules(&text),
            }),
            Err(_) => self.unreadable = self.unreadable.saturating_add(1),
        }
    }

    /// How many ignore files are in force, to come back to with [`Rules::leave`].
    pub(crate) fn depth(&self) -> usize {
        self.sets.len()
    }

    /// Drops the rules of folders that the walk has left.
    pub(crate) fn leave(&mut self, depth: usize) {
        self.sets.truncate(depth);
    }

    /// Whether the entry at `path` is ignored: the innermost rule that names it decides.
    pub(crate) fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for name in IGNORE_FILES {
            for set in self.sets.iter().rev().filter(|set| set.name == name) {
                let Ok(below) = path.strip_prefix(&set.folder) else {
                    continue;
                };
                match set.matcher.matched(below, is_folder) {
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                    Match::None => {}
                }
            }
        }
        false
    }
}

fn is_repository(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join(".git")).is_ok()
}

fn read_rules(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let file = File::open(openable(path))?;
    file.take(IGNORE_FILE_MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > IGNORE_FILE_MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A line that is no rule is passed over, as git does.
fn parse_rules(text: &str) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.trim_start_matches('\u{feff}').lines() {
        // The error is of this line alone, and the builder keeps the others.
        builder.add_line(None, line).map(drop).unwrap_or_default();
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(files: &[(&str, &str)]) -> Rules {
        let mut rules = Rules::default();
        for (path, text) in files {
            let path = Path::new(path);
            let name = IGNORE_FILES.into_iter().find(|name| path.ends_with(name)).unwrap();
            rules.sets.push(RuleSet {
                folder: path.parent().unwrap().to_owned(),
                name,
                matcher: parse_rules(text),
            });
        }
        rules
    }

    #[test]
    fn anchored_folder_and_negated_rules_mean_what_git_means() {
        let rules =
            rules(&[(".gitignore", "# note\n*.log\n!keep.log\n/top\ndist/\na/**/z\n{\\\n")]);
        let ignored = |path: &str| rules.is_ignored(Path::new(path), false);
        assert!(ignored("x.log") && ignored("deep/x.log"));
        assert!(!ignored("keep.log") && !ignored("deep/keep.log"));
        assert!(ignored("top") && !ignored("deep/top"));
        assert!(ignored("a/z") && ignored("a/b/c/z"));
        assert!(!ignored("dist"), "a rule with a slash at its end is for folders");
        assert!(rules.is_ignored(Path::new("deep/dist"), true));
    }

    #[test]
    fn inner_rules_win_over_outer_ones_and_reach_no_further() {
        let rules = rules(&[(".gitignore", "*.log\n"), ("in/.gitignore", "!*.log\n/own\n")]);
        assert!(rules.is_ignored(Path::new("x.log"), false));
        assert!(!rules.is_ignored(Path::new("in/x.log"), false));
        assert!(rules.is_ignored(Path::new("in/own"), false));
        assert!(!rules.is_ignored(Path::new("own"), false));
        assert!(!rules.is_ignored(Path::new("in2/own"), false));
    }

    #[test]
    fn ignore_file_of_search_tools_wins_over_gits() {
        let rules = rules(&[(".ignore", "!made.rs\n"), ("in/.gitignore", "made.rs\n")]);
        assert!(!rules.is_ignored(Path::new("in/made.rs"), false));
    }

    #[test]
    fn ignore_file_over_the_limit_is_counted_and_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let limit = usize::try_from(IGNORE_FILE_MAX_BYTES).unwrap();
        let mut rules = Rules::default();
        fs::write(folder.path().join(".gitignore"), "#".repeat(limit - 2) + "\na").unwrap();
        rules.enter(folder.path(), ".gitignore");
        assert_eq!((rules.depth(), rules.unreadable), (1, 0));
        assert!(rules.is_ignored(&folder.path().join("a"), false));
        fs::write(folder.path().join(".ignore"), "a\n".to_owned() + &"#".repeat(limit)).unwrap();
        rules.enter(folder.path(), ".ignore");
        assert_eq!((rules.depth(), rules.unreadable), (1, 1));
    }

    #[test]
    fn rules_above_stop_at_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        fs::create_dir_all(top.join("repo/.git")).unwrap();
        fs::create_dir_all(top.join("repo/a/b")).unwrap();
        for (path, rule) in
            [(".gitignore", "outer"), ("repo/.gitignore", "repo"), ("repo/a/.gitignore", "a")]
        {
            fs::write(top.join(path), rule).unwrap();
        }
        let rules = Rules::above(&top.join("repo/a/b"));
        let ignored = |name: &str| rules.is_ignored(&top.join("repo/a/b").join(name), false);
        assert!(ignored("repo") && ignored("a") && !ignored("outer"));
        assert_eq!(Rules::above(&top.join("repo")).depth(), 0);
    }
}
