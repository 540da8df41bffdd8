"""Items: which sentences are drawn, which word is masked, and the orders that the conditions give."""
