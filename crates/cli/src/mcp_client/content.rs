//! Content for people: texts as they are, and images, sounds and files by what they are, or saved to a folder.

use std::fs;
use std::path::{Path, PathBuf};

use switchboard::mcp::model::{Block, Body, Content, Contents};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::visible::visible;

/// Writes content as text, and what is not text to files.
pub(super) struct Shown<'a> {
    folder: Option<&'a Path>,
    /// What the files are named after.
    name: &'a str,
    saved: usize,
}

impl<'a> Shown<'a> {
    /// Saves files in this folder, if there is one.
    pub(super) fn new(folder: Option<&'a Path>, name: &'a str) -> Shown<'a> {
        Shown { folder, name, saved: 0 }
    }

    /// All blocks.
    pub(super) fn blocks<'c>(
        &mut self,
        content: impl IntoIterator<Item = &'c Content>,
    ) -> Result<String, Failure> {
        content.into_iter().map(|content| self.block(content)).collect()
    }

    fn block(&mut self, content: &Content) -> Result<String, Failure> {
        match &content.block {
            Block::Text(text) => Ok(lines(text)),
            Block::Image(image) => self.file(&image.mime_type, &image.data),
            Block::Audio(audio) => self.file(&audio.mime_type, &audio.data),
            Block::Resource(contents) => self.contents(contents),
            Block::Link(link) => {
                let about = link.description.as_deref().map(|text| format!("  {}", visible(text)));
                Ok(format!("{}  {}{}\n", visible(&link.uri), visible(&link.name), about.unwrap_or_default()))
            }
            _ => Ok(String::new()),
        }
    }

    /// What a resource holds.
    pub(super) fn contents(&mut self, contents: &Contents) -> Result<String, Failure> {
        match &contents.body {
            Body::Text(text) => Ok(lines(text)),
            Body::Blob(bytes) => {
                let kind = contents.mime_type.as_deref().unwrap_or("application/octet-stream");
                self.file(kind, bytes)
            }
        }
    }

    fn file(&mut self, kind: &str, bytes: &[u8]) -> Result<String, Failure> {
        let about = format!("{}, {}", visible(kind), size(bytes.len()));
        let Some(folder) = self.folder else { return Ok(format!("{about}\n")) };
        let path = self.save(folder, kind, bytes).map_err(|error| {
            Failure::new(Exit::CannotWrite, format!("cannot save to {}: {error}", folder.display()))
        })?;
        Ok(format!("{about}: {}\n", path.display()))
    }

    /// Saves to a new file.
    fn save(&mut self, folder: &Path, kind: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
        fs::create_dir_all(folder)?;
        // A name of the server does not lead out of the folder.
        let name: String =
            self.name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
        loop {
            self.saved += 1;
            let path = folder.join(format!("{name}-{}.{}", self.saved, extension(kind)));
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(mut file) => {
                    std::io::Write::write_all(&mut file, bytes)?;
                    return Ok(path);
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A text of several lines, each without what commands a terminal.
fn lines(text: &str) -> String {
    text.lines().map(|line| visible(line) + "\n").collect()
}

/// A size as people read it.
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        0..1000 => format!("{bytes} bytes"),
        1000..1_000_000 => format!("{} KB", bytes.div_ceil(1000)),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

/// The usual end of the names of files of this type.
fn extension(kind: &str) -> &str {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    match kind.rsplit_once('/').map_or(kind, |(_, kind)| kind) {
        "jpeg" => "jpg",
        "svg+xml" => "svg",
        "mpeg" => "mp3",
        "plain" => "txt",
        "x-wav" => "wav",
        other if (1..=4).contains(&other.len()) && other.bytes().all(|b| b.is_ascii_alphanumeric()) => other,
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::mcp::model::Image;

    #[test]
    fn files_are_named_after_what_they_are_from() {
        let check = |kind: &str, expected: &str| assert_eq!(extension(kind), expected, "{kind}");
        check("image/png", "png");
        check("image/svg+xml", "svg");
        check("text/plain; charset=utf-8", "txt");
        check("audio/mpeg", "mp3");
        check("application/../../x", "x");
        check("application/octet-stream", "bin");
        check("", "bin");
        assert_eq!([size(0), size(1001), size(1_250_000)], ["0 bytes", "2 KB", "1.2 MB"]);
    }

    #[test]
    fn images_are_described_or_saved() {
        let content = [Content::text("a\n\u{1b}b"), Content::image(Image::new("image/png", vec![1, 2]))];
        let text = Shown::new(None, "x").blocks(&content).unwrap();
        assert_eq!(text, "a\n\\u001bb\nimage/png, 2 bytes\n");
        let folder = std::env::temp_dir().join(format!("switchboard-save-{}", std::process::id()));
        for number in 1..=2 {
            let text = Shown::new(Some(&folder), "../x").blocks(&content).unwrap();
            let path = folder.join(format!("___x-{number}.png"));
            assert!(text.contains(&path.display().to_string()), "{text}");
            assert_eq!(fs::read(path).unwrap(), [1, 2]);
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
