"""Conversation: what is kept between the turns of a user and a persona, and the rules by which it changes."""
