"""Targets and rights, for actions, triggers and conditions."""
