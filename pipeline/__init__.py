"""Specwatch: is speculative decoding worth it? The product; it knows neither Airflow nor Streamlit."""
