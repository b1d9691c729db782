"""What the actions, triggers and conditions share."""
