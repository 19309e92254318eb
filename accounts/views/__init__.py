"""Pages of accounts: signing in, one's own account and tokens, people, groups, the audit log."""
