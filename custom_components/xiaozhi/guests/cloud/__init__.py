"""Devices that stay in a cloud: the tools of the house for the assistant there."""
