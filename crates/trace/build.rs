//! Compiles each probe's C to BPF byte code with clang; the object is embedded into the library.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders under `src` with a `probe.bpf.c`.
const PROBES: [&str; 7] = ["block", "errors", "files", "irq", "profile", "requests", "sched"];

fn main() {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let headers = std::env::var("DEP_BPF_INCLUDE").expect("libbpf-sys says where its headers are");
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang".to_string());
    println!("cargo::rerun-if-env-changed=CLANG");
    println!("cargo::rerun-if-changed=src/bpf");
    for probe in PROBES {
        let folder = Path::new("src").join(probe);
        // Its headers too.
        println!("cargo::rerun-if-changed={}", folder.display());
        let source = folder.join("probe.bpf.c");
        let made = Command::new(&clang)
            .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-Wall", "-Werror", "-Isrc/bpf", "-isystem", &headers])
            .arg(format!("-D__TARGET_ARCH_{}", target_name()))
            // Paths of the build machine stay out of the object.
            .arg("-fdebug-prefix-map=".to_string() + &std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default() + "=.")
            .arg("-c")
            .arg(&source)
            .arg("-o")
            .arg(out.join(format!("{probe}.bpf.o")))
            .status();
        match made {
            Ok(status) if status.success() => {}
            Ok(status) => {
                panic!(
                    "{clang} failed ({status}) on {}; clang 14 or newer with its BPF target is needed",
                    source.display()
                )
            }
            Err(error) => {
                panic!("failed to start {clang} for {}: {error}; install it: apt install clang", source.display())
            }
        }
    }
}

/// The name that bpf_tracing.h has for the target's registers.
fn target_name() -> &'static str {
    match std::env::var("CARGO_CFG_TARGET_ARCH").as_deref() {
        Ok("aarch64") => "arm64",
        Ok("powerpc64") => "powerpc",
        Ok("riscv64") => "riscv",
        Ok("s390x") => "s390",
        _ => "x86",
    }
}
