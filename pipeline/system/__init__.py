"""The whole system on this machine: database, Airflow, edge worker, dashboard. Start, look, end."""
