//! Writes reports of made-up recordings, to look at: `cargo run -p report --example sample -- DIRECTORY`.

#[path = "../tests/it/sample/mod.rs"]
mod sample;

use std::path::Path;

/// Makes one recording and its report.
fn make(directory: &Path, name: &str, script: fn(&Path)) -> Result<(), Box<dyn std::error::Error>> {
    let recording = directory.join(format!("{name}.iodyno"));
    if recording.exists() {
        std::fs::remove_dir_all(&recording)?;
    }
    script(&recording);
    let reader = recording::Reader::open(&recording)?;
    std::fs::write(directory.join(format!("{name}.html")), report::report(&reader)?)?;
    let size = report::PictureSize { width: 960, height: 400 };
    let facts = views::RecordingFacts::read(&reader, &view::Selection::default())?;
    for view in views::views() {
        let Some(data) = view.draw(&facts, None) else { continue };
        for (theme, suffix) in [(report::Theme::Light, ""), (report::Theme::Dark, "-dark")] {
            let svg = report::svg(&data, theme, size);
            std::fs::write(directory.join(format!("{name}-{}{suffix}.svg", view.id)), &svg)?;
            if matches!(
                view.id,
                "run.response"
                    | "run.response_heatmap"
                    | "run.percentiles"
                    | "sweep.load_response"
                    | "sweep.matrix"
                    | "run.operations"
            ) {
                std::fs::write(directory.join(format!("{name}-{}{suffix}.png", view.id)), report::png(&svg)?)?;
            }
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "/tmp/iodyno-samples".to_string());
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    make(directory, "single", sample::single)?;
    make(directory, "curve", sample::curve)?;
    make(directory, "cut", sample::cut)?;
    make(directory, "empty", sample::empty)?;
    make(directory, "repeated", sample::repeated)?;
    make(directory, "sweep", sample::sweep)
}
