"""The HTTPS server that sizes pods as they are created, and fails open."""
