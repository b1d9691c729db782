"""A large house on one Home Assistant: how long a step of ours holds up everything else."""
