"""Words for names, addresses and texts."""

from typing import NamedTuple


class City(NamedTuple):
    name: str
    zip: str  # `#` stands for a digit
    country: str
    lat: float
    lon: float


CITIES = (
    City("Seattle", "981##", "US", 47.6062, -122.3321),
    City("Minneapolis", "554##", "US", 44.9778, -93.265),
    City("Savannah", "314##", "US", 32.0809, -81.0912),
    City("Albuquerque", "871##", "US", 35.0844, -106.6504),
    City("Providence", "029##", "US", 41.824, -71.4128),
    City("Bergen", "50##", "NO", 60.3913, 5.3221),
    City("Utrecht", "35## AB", "NL", 52.0907, 5.1214),
    City("Leipzig", "041##", "DE", 51.3397, 12.3731),
    City("Lyon", "6900#", "FR", 45.764, 4.8357),
    City("Porto", "40##-012", "PT", 41.1579, -8.6291),
    City("Wellington", "60##", "NZ", -41.2866, 174.7756),
    City("Kanazawa", "920-00##", "JP", 36.5613, 136.6562),
)

STREETS = (
    "Alder Street",
    "Beacon Road",
    "Canal Walk",
    "Dockside Avenue",
    "Elm Court",
    "Foundry Lane",
    "Granary Square",
    "Harbor Street",
    "Juniper Way",
    "Kiln Road",
    "Lighthouse Terrace",
    "Mill Race",
)

AREA_CODES = (201, 206, 312, 401, 505, 612, 718, 912)

FIRST_NAMES = (
    *("Ada", "Amara", "Anton", "Beatriz", "Caleb", "Chiara", "Dario", "Dilnoza", "Edith", "Emeka"),
    *("Farah", "Felix", "Greta", "Hamza", "Ingrid", "Isaac", "Jun", "Kaya", "Lars", "Leila"),
    *("Mateo", "Mina", "Nadia", "Noor", "Odile", "Oskar", "Priya", "Quentin", "Rosa", "Ruben"),
    *("Sana", "Sven", "Tamar", "Tomas", "Uma", "Viktor", "Wanda", "Xenia", "Yusuf", "Zoe"),
)

LAST_NAMES = (
    *("Abara", "Alvarez", "Bakker", "Berg", "Castell", "Chand", "Dahl", "Dubois", "Eriksen", "Farkas"),
    *("Ferrante", "Gallo", "Haddad", "Hoang", "Ibarra", "Jansen", "Kato", "Keller", "Lindqvist", "Lowe"),
    *("Mansour", "Moreau", "Nakamura", "Novak", "Okafor", "Olsen", "Pereira", "Popescu", "Quist", "Rahimi"),
    *("Rossi", "Sato", "Silva", "Tanaka", "Torres", "Ueda", "Varga", "Weiss", "Yilmaz", "Zeman"),
)

DEPARTMENTS = {
    "Engineering": ("Software engineer", "Staff engineer", "Site reliability engineer"),
    "Design": ("Product designer", "Design researcher", "Type designer"),
    "Operations": ("Logistics planner", "Warehouse lead", "Procurement analyst"),
    "Support": ("Support specialist", "Support lead", "Documentation writer"),
    "Sales": ("Account manager", "Sales engineer", "Partner manager"),
}

TAGS = ("beta", "contractor", "first-aid", "green-team", "mentor", "night-shift", "on-call", "remote", "vip")

CONSENTS = ("newsletter", "product_research", "usage_statistics")

DEVICES = ("Chrome on Windows", "Edge on Windows", "Firefox on Linux", "Safari on iPhone", "Safari on macOS")

TIME_ZONES = ("America/Chicago", "America/New_York", "Asia/Tokyo", "Europe/Berlin", "Europe/Lisbon", "UTC")

LANGUAGES = ("de-DE", "en-GB", "en-US", "fr-FR", "ja-JP", "pt-PT")

SHORTCUTS = {"search": "Ctrl+K", "new_issue": "Ctrl+Shift+I", "go_home": "Alt+H", "mark_read": "Shift+R"}

BIOS = (
    "Came for one summer and stayed.",
    "Keeps bees on the roof of the old ferry terminal.",
    "Reads release notes for pleasure.",
    "Learned the trade in a print shop, and still sets type on Sundays.",
    "Answers mail in the morning and calls in the afternoon.",
    "Has packed every product at least once.",
    "Rows, badly but often.",
    "Writes the minutes that others quote.",
    "Knows each supplier by first name.",
    "Cooks for the whole floor on the last Friday of the month.",
    "Spent ten years at sea before the first spreadsheet.",
    "Ask about maps.",
    "Happy to review a text in four languages.",
    "Plays the cello in an orchestra of amateurs.",
)

REMARKS = (
    "The second attempt goes through, the first one never does.",
    "It began after the move to the new warehouse layout.",
    "A restart of the worker helps for about an hour.",
    "Two colleagues on other machines see the same thing.",
    "The log is quiet while it happens, even at debug level.",
    "Small orders are fine; it takes about forty lines to show.",
    "We have a workaround, but it is a manual step every morning.",
    "The old importer handled this without a word.",
    "I could not make it happen on the staging system.",
    "Clearing the cache changes nothing.",
    "The numbers in the monthly report are off by the same amount.",
    "It depends on the time zone: in UTC all is well.",
    "Happy to test a branch if that is of any use.",
    "The page asks for the same list three times while it loads.",
    "Nobody has complained yet, so this can wait for the next release.",
    "A short note in the manual would have saved us a day.",
    "Screen readers announce the old value until the focus moves.",
    "The label printer receives the document twice.",
    "Removing the discount and adding it again repairs the total.",
    "The retry does not wait, so the queue fills within seconds.",
)

COMPONENTS = (
    "importer",
    "label printer",
    "price list",
    "stock ledger",
    "search index",
    "return form",
    "route planner",
    "login page",
    "invoice export",
    "address check",
)

FAULTS = (
    "drops the last line of a long document",
    "shows yesterday's figures until noon",
    "stops with a timeout after an update",
    "rounds amounts to the wrong side",
    "forgets the chosen filter on the way back",
    "sends the same message twice",
    "accepts a date in the past",
    "is slow when a customer has many addresses",
    "ignores the language of the account",
    "cannot be used with the keyboard alone",
)

LABELS = (
    ("bug", "d73a4a", "Something does not do what the manual says", True),
    ("enhancement", "a2eeef", "A wish, or a change for the better", True),
    ("documentation", "0075ca", "The manual is wrong, or silent", True),
    ("question", "d876e3", "More must be known before work can start", True),
    ("good first issue", "7057ff", "Small, well described, and nobody waits for it", True),
    ("wontfix", "ffffff", "Read, understood, and left as it is", True),
    ("area: import", "c5def5", "Reading files and feeds of suppliers", False),
    ("area: shipping", "bfd4f2", "Labels, routes, carriers", False),
    ("area: billing", "d4c5f9", "Prices, taxes, invoices", False),
    ("accessibility", "0e8a16", "Keyboard, contrast, screen readers", False),
    ("performance", "fbca04", "Slow, or larger than it need be", False),
    ("needs triage", "ededed", None, False),
)

MILESTONES = (
    ("1.0 Quay", "The first release that a stranger can install.", "closed"),
    ("1.1 Pontoon", "Suppliers with more than one warehouse.", "closed"),
    ("1.2 Jetty", "Returns, from the form to the refund.", "closed"),
    ("2.0 Breakwater", "A new stock ledger; the old one is read only.", "open"),
    ("2.1 Lighthouse", "Reports that a manager reads without help.", "open"),
    ("Later", "Agreed, but not planned.", "open"),
)

COMPANIES = (
    "Alder & Finch",
    "Blue Kettle Books",
    "Cobalt Cycles",
    "Driftwood Studio",
    "Evergreen Clinic",
    "Fathom Surveying",
    "Gable Roofing",
    "Heron Tea House",
)

PRODUCTS = (
    ("Oak desk", "furniture", 48900),
    ("Folding chair", "furniture", 5900),
    ("Bookcase, five shelves", "furniture", 21900),
    ("Reading lamp", "lighting", 7450),
    ("Pendant light, brass", "lighting", 15900),
    ("Cork notice board", "stationery", 3290),
    ("Fountain pen", "stationery", 6400),
    ("Ledger, 200 pages", "stationery", 1850),
    ("Tea kettle", "kitchen", 4990),
    ("Stoneware mug", "kitchen", 1490),
    ("Enamel tray", "kitchen", 2390),
    ("Wool blanket", "textiles", 8900),
    ("Linen curtain", "textiles", 6790),
    ("Door mat", "textiles", 2890),
)

CARRIERS = ("Albatross Freight", "Northwind Parcel", "Swift Courier")

NOTES = (
    "Please ring twice, the bell is quiet.",
    "Deliver to the yard at the back.",
    "A gift: no prices on the papers, please.",
    "Closed on Mondays.",
)
