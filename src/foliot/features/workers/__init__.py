"""Worker and scheduler processes: status reports, ping, drain and restart."""
