"""What leads where: from each row of the table of features to all that teaches it and tells of it, and back."""
