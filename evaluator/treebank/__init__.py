"""From CoNLL-U bytes to sentences of units: find the files, scan their structure, read them, spell the units.

sources  which files, under which name and language        units  words and ranges to units
scan     bytes to blocks and issues, with line numbers     text   spaces between units in any order
read     blocks to sentences, damaged ones counted         check  what is in a file and what is wrong with it
"""
