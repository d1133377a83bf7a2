"""The web pages of a human trial: server-rendered, one stylesheet, nothing from elsewhere."""
