"""Tables of any library as rows."""
