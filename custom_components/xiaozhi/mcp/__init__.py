"""What a device's MCP server offers and asks beyond tools: resources, prompts, questions."""
