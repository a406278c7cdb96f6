"""The wiki for agents, over the Model Context Protocol: looked into, never written."""
