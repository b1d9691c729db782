"""Features beside the core, a folder each; see `guest_list.py`."""
