"""Results for people: tables as text, numbers with their errors, figures, JSON and CSV files."""
