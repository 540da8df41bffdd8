"""Two or more runs side by side: what was set differently, what may be compared, what differs, which items flipped.

`match` keeps the items that both runs asked alike, `cells` compares them, `flips` counts and shows those answered
differently, `gate` decides on `--fail-if`, `document` puts it together, `tables` and `render` write it.
"""
