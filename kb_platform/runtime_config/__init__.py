"""What an administrator may change while the site runs. Read with `get(SETTING)`; settings are in `declarations`."""
