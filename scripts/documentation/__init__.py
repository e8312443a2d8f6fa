"""How the documentation is made: reference pages from the code, pages from the repository's root, the PDF manual."""
