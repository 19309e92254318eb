"""External sources as a channel: other systems are asked beside the index, and their passages join the ranking."""
