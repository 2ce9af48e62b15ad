//! Draws views: SVG, PNG, one-file HTML.
