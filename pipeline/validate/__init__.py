"""The gate between staging and the warehouse. The only room that imports Great Expectations, and only when it runs."""
