"""The only code that talks to model servers. Through the one door, within bounds, and each behind its own breaker."""
