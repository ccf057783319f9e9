"""What a person is shown of a run, as HTML. Imports what it shows."""
