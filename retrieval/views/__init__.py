"""Pages of searching, asking and reading. A view parses, calls one pipeline or selector, and renders."""
