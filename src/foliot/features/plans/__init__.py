"""Plan and apply: schedules as files, compared with what is stored, and changed in one go."""
