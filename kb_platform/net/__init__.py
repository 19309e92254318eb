"""The only door out: every connection that the product opens to another server by address goes through here."""
