"""Tools for assistants in a XiaoZhi cloud, or on a self-hosted server, through its MCP access point."""
