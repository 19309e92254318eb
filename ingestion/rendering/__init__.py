"""Page images of PDFs, drawn in a child process with limits and kept on disk."""
