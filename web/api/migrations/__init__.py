"""The steps of the table of jobs."""
