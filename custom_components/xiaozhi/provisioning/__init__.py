"""From the first check-in to a token: views, replies, pairing codes and discovery cards."""
