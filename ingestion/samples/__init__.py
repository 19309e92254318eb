"""Documents of a made-up company, loaded at first start so that a newcomer can search and ask at once."""
