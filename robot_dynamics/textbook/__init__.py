"""Material of the textbooks: systems in closed form, bounds, structure, operation counts."""
