"""What one does with a cluster: describe it, load it, break it, and judge what happened."""
