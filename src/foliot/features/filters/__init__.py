"""The filter language of runs and schedules: parser, SQL conditions, counts and charts."""
