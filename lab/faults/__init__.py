"""Everything that can go wrong, as commands; and swarms, which draw what goes wrong from a seed."""
