"""Who is asking: tokens and API keys, checked; the tenant comes from nowhere else."""
