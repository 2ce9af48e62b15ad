//! Whose numbers of processes these are.

/// Does this process see all processes, by the numbers that the kernel gives them? The outermost namespace has a number of
/// its own in all kernels (`PROC_PID_INIT_INO`).
pub(crate) fn sees_all_processes() -> bool {
    std::fs::read_link("/proc/self/ns/pid").is_ok_and(|name| name.as_os_str() == "pid:[4026531836]")
}

/// Is there a process of this number? To be asked only where [`sees_all_processes`]: the kernel's numbers are those of
/// `/proc` nowhere else.
pub(crate) fn is_there(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_there_and_no_other_of_its_number() {
        assert!(is_there(std::process::id()));
        assert!(!is_there(u32::MAX));
    }
}
