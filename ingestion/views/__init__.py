"""Pages of collections and documents. A view parses, calls one selector or service, and renders."""
