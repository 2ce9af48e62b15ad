//! The files of a tree by their paths, for what is proved of them.

use tree::TreeLayout;
use validation::FileNames;

/// The files of a tree by their paths.
#[derive(Debug)]
pub struct TreeFileNames {
    anchor: String,
    layout: TreeLayout,
}

impl TreeFileNames {
    /// Of a tree below this anchor, whose path has no links.
    #[must_use]
    pub fn new(anchor: String, layout: TreeLayout) -> Self {
        Self { anchor, layout }
    }
}

impl FileNames for TreeFileNames {
    fn files(&self) -> u32 {
        self.layout.files()
    }

    fn bytes(&self, file: u32) -> u64 {
        self.layout.asked_bytes(file)
    }

    fn path(&self, file: u32) -> String {
        let mut path = Vec::new();
        self.layout.file_path(file, &mut path);
        format!("{}/{}", self.anchor, String::from_utf8_lossy(&path))
    }
}
