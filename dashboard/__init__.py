"""What a person sees: a page a question, drawn from the warehouse's views. It measures nothing and joins nothing."""
