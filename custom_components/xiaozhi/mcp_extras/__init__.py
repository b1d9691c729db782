"""What MCP has beyond tools: resources, prompts and questions of a device. Optional.

Stock firmware has none of it, and nothing depends on this folder. To remove it, delete it with `repairs.py`,
the two calls in the integration's `__init__.py` and the action `read_resource` in `services.yaml`.
"""
