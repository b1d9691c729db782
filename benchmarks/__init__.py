"""Speed, load and robustness of the integration, each claim with the command that measures it."""
