//! What a trace says where the system does not let it: capabilities taken away, no types of the kernel.

use crate::support::Scratch;
use testkit::{CommandOutput, LoopDevice, TestCommand};

const IODYNO: &str = env!("CARGO_BIN_EXE_iodyno");

/// `iodyno ARGUMENTS` as root with only these capabilities left.
fn with_only(capabilities: &str, scratch: &Scratch, arguments: &[&str]) -> CommandOutput {
    let kept = format!("-all,{capabilities}");
    TestCommand::new("setpriv")
        .args(["--bounding-set", &kept, "--inh-caps", &kept, "--", IODYNO])
        .args(arguments)
        .dir(scratch.path(""))
        .run()
        .unwrap()
}

#[test]
fn two_capabilities_are_enough_and_each_of_them_is_missed_by_name() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let device = LoopDevice::new(16 << 20).unwrap();
    let name = device.name();
    let trace =
        |out: &'static str| ["trace", "-d", &name, "--for", "1s", "--through", "bpf", "-o", out].map(str::to_string);
    let run = |capabilities: &str, out: &'static str| {
        let arguments = trace(out);
        with_only(capabilities, &scratch, &arguments.iter().map(String::as_str).collect::<Vec<_>>())
    };
    for (capabilities, missing) in [
        ("+bpf,+dac_override", "CAP_PERFMON"),
        ("+perfmon,+dac_override", "CAP_BPF"),
        ("+dac_override", "CAP_BPF and CAP_PERFMON"),
    ] {
        let output = run(capabilities, "none.iodyno").expect_code(8);
        assert!(
            output.stderr.contains(missing) && output.stderr.contains("setcap"),
            "{capabilities}: {}",
            output.stderr
        );
        assert!(!scratch.path("none.iodyno").exists());
    }
    run("+bpf,+perfmon,+dac_override", "two.iodyno").expect_code(0);
    // The user root may read tracefs, and need not do without.
    let output = with_only("+dac_override", &scratch, &["trace", "-d", &name, "--for", "1s", "-o", "ftrace.iodyno"]);
    let output = output.expect_code(0);
    for word in ["CAP_BPF and CAP_PERFMON", "through ftrace", "not known"] {
        assert!(output.stderr.contains(word), "{}", output.stderr);
    }
    // The live probes say the same.
    let output = with_only("+dac_override", &scratch, &["probe", "io", "1s"]).expect_code(8);
    assert!(output.stderr.contains("CAP_BPF"), "{}", output.stderr);
}

#[test]
fn a_replay_without_them_goes_on_and_says_what_is_missing() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let device = LoopDevice::new(16 << 20).unwrap();
    std::fs::write(
        scratch.path("t.csv"),
        "128166372000000000,host,0,Read,0,4096,10\n128166372005000000,host,0,Read,8192,4096,10\n",
    )
    .unwrap();
    let map = format!("0={}", device.path().display());
    let output =
        with_only("+dac_override", &scratch, &["replay", "t.csv", "--map", &map, "-o", "r.iodyno", "--no-report"]);
    let output = output.expect_code(0);
    assert!(output.stdout.contains("ordinary priority"), "{}", output.stdout);
    assert!(output.stdout.contains("not compared with its trace at the device"), "{}", output.stdout);
    assert!(output.stderr.contains("by the player's own account"), "{}", output.stderr);
}

#[test]
fn without_the_kernels_types_the_file_is_named() {
    if !testkit::require_root_or_skip() {
        return;
    }
    let scratch = Scratch::new();
    let line = format!("mount -t tmpfs none /sys/kernel/btf && exec '{IODYNO}' trace --all --for 1s -o");
    let through = |more: &str| {
        TestCommand::new("unshare").args(["-m", "sh", "-c", &format!("{line} {more}")]).dir(scratch.path("")).run()
    };
    let output = through("t.iodyno --through bpf").unwrap().expect_code(8);
    assert!(
        output.stderr.contains("/sys/kernel/btf/vmlinux") && output.stderr.contains("DEBUG_INFO_BTF"),
        "{}",
        output.stderr
    );
    assert!(!scratch.path("t.iodyno").exists());
    let output = through("ftrace.iodyno").unwrap().expect_code(0);
    assert!(output.stderr.contains("BTF") && output.stderr.contains("through ftrace"), "{}", output.stderr);
}
