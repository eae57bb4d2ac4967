"""Bounds that several modules share, with their units and reasons.

Whatever stays under a bound is served. What exceeds it is refused with `PROJECTION_LIMIT` (a request), answered with
the shape, which is always sound (a schema), rejected as not JSON (a text), or forgotten (a cached value).
"""

MAX_PATHS = 256
"""Field paths in one request. A longer list means "everything but", which exclude says shorter."""

MAX_PATH_CHARACTERS = 512
"""Length of one field path, in code points."""

LEARNT_AFTER = 3
"""Answers in a row without a new field, after which a tool's fields count as known."""

MAX_ROW_CHARACTERS = 2_048
"""Length of all field paths with rows in a request, or in the views of a tool: reading takes 15 us a character."""

MAX_SEGMENTS = 32
"""Longest path, in segments. Bounds the recursion of every later step; advertised as `maxDepth`."""

MAX_MASK_STATES = 4096
MAX_MASK_STEPS = 200_000
"""States of a determinised mask, and steps to make them. Twelve short paths with wildcards can need 196,406 states."""

MAX_SCHEMA_STEPS = 20_000
MAX_SCHEMA_DEPTH = 80
"""Schema objects that one derivation visits, and their nesting when written out. Over it: shape only."""

MAX_SUGGESTION_NAMES = 1000
"""Names of a schema that are compared with an unknown name for a suggestion."""

MAX_TOOL_PAGES = 100
"""Pages of a `tools/list` that are read, so that an endless cursor cannot hang a call."""

MAX_JSON_DEPTH = 200
"""Nesting of JSON text that is read as structured output, in levels."""

MAX_WRITTEN_DEPTH = 250
"""Nesting of a derived schema, in levels of JSON, so that any JSON reader accepts it."""

MAX_CALLERS = 256
"""Callers with cached state, such as their view of a server's tools."""

MAX_ARRAY_LEVELS = 64
"""Arrays directly in one another that a name looks through; a deeper array counts as missing."""

MAX_WRITTEN_SIZE = 10 * MAX_SCHEMA_STEPS
"""Largest derived schema, in JSON values; 100 characters of text count as one. A mask can repeat a large constant."""

MAX_GENERATED_LINES = 1000
MAX_GENERATED_DEPTH = 40
MAX_GENERATED_LOOPS = 18
"""Lines and members of a plan's generated code, its nesting, and its loops within loops (Python stops at 20). Over it:
closures."""

MAX_ON_LOOP = 20_000
"""Parts of a value that are projected or validated on the event loop, about 1 MB; larger values go to a thread."""

MAX_PLAN_COST = 1_000_000
MAX_PLAN_COST_ON_LOOP = 5_000
"""Cost of one plan, some microseconds: schema objects times field paths. Over the first it is refused; over the second
it is made in a thread."""

PLAN_COST_A_SECOND = 200_000
MAX_PLAN_COST_AT_ONCE = 2 * MAX_PLAN_COST
"""Cost of the new plans of one caller: in the long run, and at once. 256 new names, one after the other, on all but
1 % of real schemas (400 objects). Kept plans cost nothing."""

MAX_READING_STEPS = 20_000
MAX_VIEWS_STEPS = 10 * MAX_READING_STEPS
"""Schemas read to check the paths of a request, about 0.1 s, or of all views of a tool. Over it every path is known."""

MAX_INFERRED_DEPTH = 32
MAX_INFERRED_NAMES = 256
"""Levels of an inferred schema, as many as a path has, and members of one place. With more, the names are data."""

MAX_QUERY_CHARACTERS = 4096
"""Length of a search query for tools, in code points: a page. Each of its words is looked up once."""

MAX_NEEDS = 20
"""Things to be done in one query, each with a ranking of its own; further ones are ignored."""

QUERIES_PER_MINUTE = 120
"""Search queries of one caller in a minute, by default."""

MATCHES_A_PAGE = 20
"""Tools on a page of search results. A model without a match among twenty needs other words."""

MAX_WORD_CHARACTERS = 100
"""Length of a word in the search index, in code points. Longer strings are not search terms."""

MAX_UPSTREAM_BYTES = 16 * 1024 * 1024
MAX_UPSTREAM_MEMBERS = 1000
MAX_UPSTREAM_DEPTH = 128
"""Message of an upstream: bytes after decompression, compressed members (64 kB blocks make 128), levels of nesting."""

MIN_BACKOFF_S = 0.25
"""First wait before retrying an upstream that failed, in seconds; each further wait is twice as long."""

MAX_BACKOFF_S = 30.0
"""Longest wait before retrying an upstream, in seconds, and the wait after `MAX_FAILURES`."""

OPENING_TIMEOUT_S = 30.0
"""How long an upstream may take to open, in seconds (`npx` downloads it first), unless its call timeout is longer."""

LEFT_OUT_S = 8.0
"""Seconds until a list goes on without slow servers. Hosts wait 10 s; `npx` starts a downloaded server in less."""

UNUSED_S = 60.0
"""Idle time after which a session ends if another finds no room, in seconds. Crashed clients do not close theirs."""

MAX_WATCHED = 10_000
"""Resources that one request of 2026-07-28 watches. A change subscribes to all of them again: 60,000 take 0.3 s."""

PARKED_S = 300.0
"""How long a call waits for a client to answer, in seconds; then it is cancelled at the upstream."""

MAX_ROUNDS = 10
"""Rounds of `input_required` within one call."""

SEALED_SESSION_S = 7 * 86_400.0
"""How long after `initialize` any replica opens a session by its id, in seconds. Hosts run for days."""

REPLICA_TAG_S = 3600.0
"""How long a replica seals its URL with one time, in seconds. Others take it for `SEALED_SESSION_S` longer, for the
sessions that began with it: later somebody else may have the address."""

CLOCKS_APART_S = 600.0
"""How far ahead the clock may be that has sealed or kept something, in seconds: that of another replica is never exact,
and one that was put back would make it last for longer."""

EXPIRY_LOOK_S = 30.0
"""How often it is looked whether the token of an open stream has expired, in seconds: clocks jump, machines sleep."""

STATE_ANSWER_S = 2.0
"""How long a store of state that replicas share may take to answer, in seconds. One next door takes a millisecond."""

STATE_SILENT_S = 15.0
"""Silence after which it is checked that the channel of the replicas is still connected, in seconds."""

MAX_SHARED_RESULT_BYTES = 32 * 1024 * 1024
"""Largest result in a store that replicas share, in bytes of JSON: it is sent within `STATE_ANSWER_S`."""

TOOL_PINS_S = 30 * 86_400.0
TOOL_PINS_RENEWED_S = 86_400.0
"""How long replicas remember a server's tools that none of them lists, and how often that is renewed, in seconds."""

MAX_PEER_BODY_BYTES = 64 * 1024 * 1024
"""Bytes of unfinished bodies of one client: 16 of the largest messages at once."""

MAX_PEER_UNREAD_BYTES = 256 * 1024 * 1024
"""Bytes of answers that one address has not read, over its connections with more than 64 KiB of them: dozens of large
answers at once. The connection that goes over it is closed."""

PING_S = 15.0
"""Silence after which an HTTP answer becomes a stream with pings, in seconds."""

DRAIN_S = 5.0
"""How long calls may continue during shutdown, in seconds; the process ends within 10."""

MAX_CLIENT_LINE = 4 * 1024 * 1024
"""Largest message of a client, in bytes."""

MAX_UNFORWARDED = 1000
"""Notifications of a client that wait for an upstream. Over it they are refused (HTTP), or not read (stdio)."""

MAX_TELLING_BYTES = 1024
"""Bytes at both ends of a message that is too long, or no message; they are looked at to identify it."""

MAX_CATALOGUE_BYTES = 4 * 1024 * 1024
MAX_CATALOGUES = 256
"""Bytes of a kept catalogue, which is read in 50 ms, and catalogues of a user. GitHub's 90 tools have 100 kB."""

MAX_INTEGER_DIGITS = 10_000
"""Digits of an integer of an upstream; reading and writing one takes quadratic time."""

MAX_READ_ON_LOOP = 256 * 1024
"""Largest message that is parsed on the event loop, in bytes, some 5 ms; larger ones go to a thread."""

MAX_TOON = 1024 * 1024
MAX_TOON_ON_LOOP = 8 * 1024
"""Largest output that is sent as TOON, in bytes of JSON, and on the event loop: 1 MiB takes up to 3 s, 8 KiB 20 ms."""

MAX_READ_FAST = 4 * 1024 * 1024
"""Largest JSON text that the fast reader takes, in bytes: nothing else runs meanwhile, some 15 ms."""

MAX_HTTP_HEAD = 16 * 1024
"""Bytes of HTTP without progress, such as an unfinished head, from clients and upstreams; the default of h11."""

MAX_UPSTREAM_PENDING = 1024 * 1024
"""Unread bytes of an upstream. Over it the gateway stops reading, so that the upstream waits."""

MAX_UPSTREAM_QUESTIONS = 200
"""Requests of an upstream until their answers are sent, one for each of `MAX_SESSIONS`; further ones get no answer."""

MAX_PEER_QUESTIONS = MAX_UPSTREAM_QUESTIONS // 2
"""Requests of an upstream that one principal, or address, has not answered: the others are asked meanwhile."""

MAX_UPSTREAM_CONNECTIONS = 400
MAX_UPSTREAM_IDLE = 100
"""Connections to one HTTP upstream, two for each of `MAX_SESSIONS`, and unused ones among them. Over it calls fail."""

MAX_PEER_CALLS = MAX_UPSTREAM_CONNECTIONS // 2
"""Calls of one HTTP upstream by one principal, or address, each over a connection: the others need some too."""

MAX_LOG_LINE = 1000
MAX_LOG_LINES = 100
"""Bytes of a line of an upstream's standard error in the log, and lines at once, some 256 kB; the rest is dropped."""

UPSTREAM_CONNECT_SECONDS = 10.0
"""How long connecting to an HTTP upstream may take."""

UPSTREAM_GOODBYE_SECONDS = 1.0
"""How long anything without a waiting client may take: the rest of a stream, a cancellation, a DELETE."""

UPSTREAM_SEND_SECONDS = 5.0
"""How long an HTTP upstream may take to accept an answer or a notification; a 202 has no body and waits for nothing."""

MIN_UPSTREAM_RETRY_SECONDS = 0.1
MAX_UPSTREAM_RETRY_SECONDS = 30.0
"""Shortest and longest wait before a stream is resumed, whatever the upstream says."""

MAX_URI_BYTES = 8 * 1024
"""Longest URI of ours that is parsed, in bytes: room for `MAX_TOOLS_READ` long names, or many paths. Longest URI of
any other resource that is watched, remembered or matched against templates, in characters."""

MAX_TOOLS_READ = 50
"""Tool descriptions in one read. A model that needs more has not chosen yet."""

READS_PER_MINUTE = 120
"""Reads of descriptions by one caller in a minute, by default. A task takes one or two."""

DEFINITIONS_S = 60.0
"""How long a server's list stays valid without a notification, in seconds: others' are not received."""

SAMPLE_DATA_BYTES = 1000
"""Size to which `inspect-tool-response` has an answer beside its shape, in bytes of JSON: the shape is as long."""

KEPT_OVER_BYTES = 100_000
"""Size over which an answer is stored instead of sent, in bytes of JSON, by default."""

KEPT_MINUTES = 10.0
MAX_KEPT_MINUTES = 1440.0
"""How long a result is kept by default, a few steps of a task, and at most, in minutes."""

MAX_RESULTS = 1000
MAX_RESULTS_BYTES = 256 * 1024 * 1024
"""Results in one store, the oldest go first, and their bytes of JSON. A larger result is sent unchanged."""

CHARACTERS_A_TOKEN = 3.5
CHARACTERS_A_LIST_TOKEN = 4.5
"""Characters in a model's token, on average: of JSON, and of lists of tools (4.55 in those of five public servers)."""

SCRIPT_CPU_S = 2
"""CPU time of a script's process, in whole seconds, as the kernel counts; then the process is killed."""

MAX_SCRIPT_HEAP = 32 * 1024 * 1024
"""Memory of a script's own values, in bytes: several times all of its replies (8 MiB)."""

MAX_SCRIPT_ARGUMENTS = 256 * 1024
MAX_SCRIPT_REPLY = 1024 * 1024
"""JSON of a call's arguments, and of its reply, in bytes. A script gets less by naming `fields`."""

SANDBOX_STARTING_S = 10.0
SANDBOX_GIVING_S = 2.0
SANDBOX_ENDING_S = 2.0
"""How long the sandbox may take to start, to provide a process, and to end or kill one, in seconds."""

AUDIT_DAYS = 365.0
"""How long an audit record is kept by default, in days: auditors look at a year."""

MAX_SAVINGS_KEYS = 5000
"""Tools and views that one process counts by name; the rest is counted together."""

CLOCK_SKEW_S = 30
"""Accepted difference to the clock of an issuer, in seconds: network time is closer than that."""

MAX_TOKEN_CHARACTERS = 16 * 1024
"""Longest bearer token, in characters. Tokens with many groups have some 8,000."""

MAX_AUTH_BYTES = 256 * 1024
"""Largest answer of an issuer, in bytes: a hundred keys with their certificates."""

AUTH_FETCH_S = 5.0
"""How long an issuer may take to answer, in seconds: the client waits meanwhile."""

JWKS_AGAIN_S = 60.0
JWKS_RETRY_S = 5.0
"""Shortest time between two reads of an issuer's keys, and while none are known, in seconds."""

LOGIN_FRESH_S = 10.0
"""Age under which a refused access token is not renewed again, in seconds: the server refuses the login itself."""

LOGIN_WAIT_S = 600.0
"""How long `louver login`, and the link that a caller gets, wait for somebody to log in, in seconds."""

MAX_LOGIN_NOTES = 10_000
"""Logins under way that one process remembers: links, and the states of authorization servers. A note is 500 bytes."""

LOGIN_LOCK_S = 30.0
LOGIN_LOCK_WAIT_S = 15.0
"""How long a replica may hold a login to renew it (some requests of `AUTH_FETCH_S`), and others wait for that, or the
renewed one for its place to be there again, in seconds."""

MAX_DOCTOR_SERVERS = 64
DOCTOR_START_S = 60.0
DOCTOR_CALL_S = 10.0
"""Servers of one file that `louver doctor` starts, and seconds for each start (it may download a package) and call."""
