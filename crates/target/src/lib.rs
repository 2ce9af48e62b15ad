//! Opens what a plan names, after proving that nothing of anybody's lives there.
