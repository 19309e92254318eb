"""Images of PDF pages and of pictures, drawn in a child process with limits and kept on disk."""
