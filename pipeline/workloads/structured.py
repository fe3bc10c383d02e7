"""Structured prompts: JSON, SQL and code, whose answers repeat names, brackets and keywords of the question."""

from pipeline.domain.workload import Prompt, Workload

_JSON_ORDER = (
    'Turn this order into JSON with the keys "order_id", "customer", "items" (each with "sku", "quantity", '
    '"unit_price") and "total". Order 4711 by Ada Lovelace: 3 of SKU BK-100 at 12.50 each, 1 of SKU PN-200 at 3.20 '
    "each, 2 of SKU NB-300 at 7.75 each. Answer with JSON only."
)
_JSON_USERS = (
    'Write a JSON array of five users. Every user has the keys "id", "name", "email", "role" and "active". Use the '
    "names Ann, Bob, Cid, Dee and Eve, ids from 1 to 5, e-mail addresses at example.com. Answer with JSON only."
)
_JSON_CONFIG = (
    "Convert this configuration to JSON and keep the keys and their order: host=db.internal, port=5432, "
    "user=reporting, pool_min=2, pool_max=20, timeout_seconds=30, ssl=true, retries=3. Answer with JSON only."
)
_SQL_TABLE = (
    "Write a SQL CREATE TABLE statement for a table named employees with the columns id, first_name, last_name, "
    "email, phone_number, hire_date, job_id, salary, commission_pct, manager_id and department_id. Answer in SQL."
)
_SQL_QUERY = (
    "Given the tables customers(customer_id, name, country) and orders(order_id, customer_id, order_date, amount), "
    "write one SQL query that returns, for every country, the number of customers, the number of orders and the sum "
    "of the amount, ordered by the sum of the amount. Answer with SQL only."
)
_SQL_INSERT = (
    "Write SQL INSERT statements, one for each row, into products(product_id, name, price) for these rows: 1 apple "
    "0.50, 2 banana 0.25, 3 cherry 3.00, 4 damson 2.10, 5 elderberry 4.40. Answer with SQL only."
)
_CODE_CLASS = (
    "Write a Python class Point3D with the attributes x, y and z, an __init__ method that sets all three, and methods "
    "__add__, __sub__ and __eq__ that work on x, y and z. Answer with code only."
)
_CODE_EDIT = (
    "Rename the variable total to amount in this function and return the whole function:\n"
    "def checkout(prices, discount):\n    total = 0\n    for price in prices:\n        total = total + price\n"
    "    total = total * (1 - discount)\n    if total < 0:\n        total = 0\n    return total\n"
)


def _prompt(number: int, kind: str, text: str) -> Prompt:
    return Prompt(prompt_id=f"structured-{number:02d}-{kind}", kind=kind, messages=(("user", text),))


STRUCTURED = Workload(
    name="structured",
    category="structured",
    description="JSON, SQL and code: short answers whose shape is given by the question.",
    prompts=(
        _prompt(1, "json", _JSON_ORDER),
        _prompt(2, "sql", _SQL_TABLE),
        _prompt(3, "code", _CODE_CLASS),
        _prompt(4, "json", _JSON_USERS),
        _prompt(5, "sql", _SQL_QUERY),
        _prompt(6, "code", _CODE_EDIT),
        _prompt(7, "json", _JSON_CONFIG),
        _prompt(8, "sql", _SQL_INSERT),
    ),
)
