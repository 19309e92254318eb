"""The retrieval debugger: one question run with any settings, each step of it, and why each candidate stayed or fell."""
