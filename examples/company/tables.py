"""The tables: people (`users`), the tracker (`issues`), the shop (`orders`).

Booleans are 0 or 1, times are ISO 8601 text in UTC, money is in cents. `users.preferences` and
`activities.details` hold JSON, because their members differ from row to row.
"""

PEOPLE = (
    """
    CREATE TABLE users (
        id INTEGER PRIMARY KEY,
        login TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        email TEXT NOT NULL UNIQUE,
        phone TEXT NOT NULL,
        status TEXT NOT NULL,
        title TEXT NOT NULL,
        department TEXT NOT NULL,
        bio TEXT NOT NULL,
        joined_on TEXT NOT NULL,
        street TEXT NOT NULL,
        city TEXT NOT NULL,
        zip TEXT NOT NULL,
        country TEXT NOT NULL,
        lat REAL NOT NULL,
        lon REAL NOT NULL,
        manager_id INTEGER REFERENCES users (id),
        preferences TEXT NOT NULL,
        last_seen_at TEXT NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        source TEXT NOT NULL,
        revision INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE user_tags (
        user_id INTEGER NOT NULL REFERENCES users (id),
        tag TEXT NOT NULL,
        PRIMARY KEY (user_id, tag)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE consents (
        user_id INTEGER NOT NULL REFERENCES users (id),
        purpose TEXT NOT NULL,
        given_on TEXT,
        PRIMARY KEY (user_id, purpose)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE activities (
        user_id INTEGER NOT NULL REFERENCES users (id),
        at TEXT NOT NULL,
        kind TEXT NOT NULL,
        details TEXT NOT NULL,
        PRIMARY KEY (user_id, at)
    ) WITHOUT ROWID
    """,
)

TRACKER = (
    """
    CREATE TABLE labels (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        color TEXT NOT NULL,
        description TEXT,
        is_default INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE milestones (
        number INTEGER PRIMARY KEY,
        title TEXT NOT NULL,
        description TEXT NOT NULL,
        state TEXT NOT NULL,
        due_on TEXT
    )
    """,
    """
    CREATE TABLE issues (
        number INTEGER PRIMARY KEY,
        title TEXT NOT NULL,
        body TEXT NOT NULL,
        state TEXT NOT NULL,
        state_reason TEXT,
        locked INTEGER NOT NULL,
        author_id INTEGER NOT NULL REFERENCES users (id),
        closed_by_id INTEGER REFERENCES users (id),
        milestone_number INTEGER REFERENCES milestones (number),
        comments INTEGER NOT NULL,
        created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL,
        closed_at TEXT,
        plus_one INTEGER NOT NULL,
        minus_one INTEGER NOT NULL,
        laugh INTEGER NOT NULL,
        hooray INTEGER NOT NULL,
        confused INTEGER NOT NULL,
        heart INTEGER NOT NULL,
        rocket INTEGER NOT NULL,
        eyes INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE issue_labels (
        issue_number INTEGER NOT NULL REFERENCES issues (number),
        label_id INTEGER NOT NULL REFERENCES labels (id),
        PRIMARY KEY (issue_number, label_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE issue_assignees (
        issue_number INTEGER NOT NULL REFERENCES issues (number),
        user_id INTEGER NOT NULL REFERENCES users (id),
        PRIMARY KEY (issue_number, user_id)
    ) WITHOUT ROWID
    """,
)

SHOP = (
    """
    CREATE TABLE customers (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        company TEXT,
        email TEXT NOT NULL UNIQUE,
        phone TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE products (
        sku TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        category TEXT NOT NULL,
        price_cents INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY,
        parent_id INTEGER REFERENCES orders (id),
        customer_id INTEGER NOT NULL REFERENCES customers (id),
        status TEXT NOT NULL,
        currency TEXT NOT NULL,
        placed_at TEXT NOT NULL,
        note TEXT
    )
    """,
    "CREATE INDEX orders_by_parent ON orders (parent_id)",
    """
    CREATE TABLE order_items (
        order_id INTEGER NOT NULL REFERENCES orders (id),
        line INTEGER NOT NULL,
        sku TEXT NOT NULL REFERENCES products (sku),
        quantity INTEGER NOT NULL,
        unit_price_cents INTEGER NOT NULL,
        PRIMARY KEY (order_id, line)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE shipments (
        tracking_number TEXT PRIMARY KEY,
        order_id INTEGER NOT NULL REFERENCES orders (id),
        carrier TEXT NOT NULL,
        status TEXT NOT NULL,
        shipped_at TEXT,
        delivered_at TEXT,
        street TEXT NOT NULL,
        city TEXT NOT NULL,
        zip TEXT NOT NULL,
        country TEXT NOT NULL,
        lat REAL NOT NULL,
        lon REAL NOT NULL
    )
    """,
    "CREATE INDEX shipments_by_order ON shipments (order_id)",
)

# Each table stands after those it refers to.
STATEMENTS = PEOPLE + TRACKER + SHOP
