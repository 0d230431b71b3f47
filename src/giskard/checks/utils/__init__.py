"""Small tools that know nothing of the product."""
