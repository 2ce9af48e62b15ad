//! Names of functions as their source has them.

use cpp_demangle::{DemangleOptions, Symbol};

/// Longer symbols are left as they are: demangling them takes long, and they are unreadable anyway.
const SYMBOL_MAX: usize = 4096;

/// The name behind a symbol that the compiler of Rust or C++ made: without hash, parameters and result. Others are left as
/// they are. `;`, which stands between the functions of a stack, becomes `,`.
pub(super) fn readable(symbol: &str) -> String {
    let name = if symbol.len() > SYMBOL_MAX { None } else { rust(symbol).or_else(|| cpp(symbol)) };
    name.as_deref().unwrap_or(symbol).replace(';', ",")
}

fn rust(symbol: &str) -> Option<String> {
    rustc_demangle::try_demangle(symbol).ok().map(|name| format!("{name:#}"))
}

fn cpp(symbol: &str) -> Option<String> {
    // Copies that a compiler made of a function are named after it, with a dot.
    let made = symbol.starts_with("_Z").then(|| symbol.split('.').next())??;
    let options = DemangleOptions::new().no_params().no_return_type();
    Symbol::new(made).ok()?.demangle_with_options(&options).ok()
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn as_their_source_has_them() {
        for (symbol, name) in [
            ("main", "main"),
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
            ("_RINvCs1234_7mycrate3fooAhj4_EB2_", "mycrate::foo::<[u8, 4]>"),
            ("_ZN7rocksdb6DBImpl5WriteERKNS_12WriteOptionsEPNS_10WriteBatchE", "rocksdb::DBImpl::Write"),
            ("_ZN12_GLOBAL__N_18EarlyCSE3runEv.llvm.9502427608756745089", "(anonymous namespace)::EarlyCSE::run"),
            ("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"),
            ("_Zwhatever", "_Zwhatever"),
            ("_ZN", "_ZN"),
            ("", ""),
        ] {
            assert_eq!(readable(symbol), name, "{symbol}");
        }
        let long = "_Z".repeat(10_000);
        assert_eq!(readable(&long), long);
    }
}
