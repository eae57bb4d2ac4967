"""Every bound, with its unit and its reason.

Whatever stays under a bound is served. What exceeds it is refused with `PROJECTION_LIMIT` (a request), answered with
the shape, which is always sound (a schema), rejected as not JSON (a text), or forgotten (a cached value).
"""

MAX_PATHS = 256
"""Field paths in one request. A longer list means "everything but", which exclude says shorter."""

MAX_PATH_CHARACTERS = 512
"""Length of one field path, in code points."""

MAX_ARGUMENT_CHARACTERS = 45
"""Characters of field names, and of view names, in the description of the argument: models read it with every list."""

MAX_ARGUMENT_SHARE = 0.065
MIN_ARGUMENT_ROOM = 500
"""Share of a tool list, or at least characters, that the argument may add. Past that, tools with few fields lack it."""

MAX_NAMED_FIELDS = 60
"""Fields that an error lists if a request names no existing field."""

LEARNT_AFTER = 3
"""Answers in a row without a new field, after which a tool's fields count as known."""

MAX_LEARNT_SAMPLES = 20
MAX_LEARNT_FIELDS = 500
"""Answers of one tool that are learnt from after each start, and fields. A tool with more fields has data for names."""

MAX_REMEMBERED_PATHS = 32
"""Field paths of a request that is cached once parsed. The cache has 512 requests; longer ones are parsed each time."""

MAX_SEGMENTS = 32
"""Longest path, in segments. Bounds the recursion of every later step; advertised as `maxDepth`."""

MAX_VIEWS = 256
"""Views of one tool from one source, such as a hint or a file. Each is checked against the tool's schema."""

MAX_SHAPING_VIEWS = 16
"""Views of one tool that shape. Each needs a plan of the whole schema for the tool list."""

MAX_AUDITED_FIELDS = 256
"""Fields of one answer that an audit record names. A value can have a name for each row."""

MAX_AUDIENCES = 64
"""Groups of callers that may see the same, each with cached lists, plans and searches."""

MAX_VISIBLE_TOOLS = 16_384
"""Cached views of tools under a policy (one for each tool and set of rules), and cached tools of one server."""

MAX_APPLIED = 500_000
"""Parts of a derived schema, counted for each reference: 30 schemas that refer twice to the next have 2^30."""

MAX_KEPT_NAME = 256
"""Longest name that is cached with its normalised form, in characters."""

MAX_TWIN_PATHS = 1024
"""Denied paths of one rule, with all variants of their names. A schema has few variants, if any."""

MAX_MASK_STATES = 4096
MAX_MASK_STEPS = 600_000
"""States of a determinised mask, and steps to make them. Twelve short paths with wildcards can need 196,406 states."""

MAX_SCHEMA_STEPS = 20_000
MAX_SCHEMA_DEPTH = 80
"""Schema objects that one derivation visits, and their nesting when written out. Over it: shape only."""

MAX_INLINE_DEPTH = 40
"""Depth to which single-use definitions are inlined, in levels of JSON."""

MAX_SUGGESTION_NAMES = 1000
"""Names of a schema that are compared with an unknown name for a suggestion."""

MAX_PLANS = 4096
MAX_PLAN_NODES = 500_000
"""Cached plans of one server, and nodes of their masks plus values of their schemas: some 100 MB."""

MAX_TOOL_PAGES = 100
"""Pages of a `tools/list` that are read, so that an endless cursor cannot hang a call."""

MAX_JSON_DEPTH = 200
"""Nesting of JSON text that is read as structured output, in levels."""

MAX_WRITTEN_DEPTH = 250
"""Nesting of a derived schema, in levels of JSON, so that any JSON reader accepts it."""

MAX_PATTERN_CHARACTERS = 256
"""Longest `patternProperties` pattern that is matched against a name, in code points."""

MAX_CALLERS = 256
"""Callers with cached state, such as their view of a server's tools."""

MAX_BACKTRACKS = 100_000
"""Steps of matching one pattern with look-around, in the backend that supports it."""

MAX_KEPT_SCHEMAS = 1024
"""Projected schemas that a server serves by their digest; the least recently used go first."""

MAX_ARRAY_LEVELS = 64
"""Arrays directly in one another that a name looks through; a deeper array counts as missing."""

MAX_WRITTEN_SIZE = 10 * MAX_SCHEMA_STEPS
"""Largest derived schema, in JSON values; 100 characters of text count as one. A mask can repeat a large constant."""

MAX_COMPARING = 2_000_000
"""Pairs of characters (30 more for each pair of names) that one reading compares for suggestions: 0.1 s."""

MAX_GENERATED_LINES = 1000
MAX_GENERATED_DEPTH = 15
"""Lines and members of a plan's generated code, and its nesting (Python stops at 20 loops). Over it: closures."""

MAX_GENERATIONS = 8
"""How often code is generated for one plan. The last code expects nothing, and stays."""

FIRST_CALLS = 3
FIRST_ELEMENTS = 300
"""Values, or elements of the root's arrays, that a plan learns from before code is generated."""

MAX_SHAPE_SAMPLES = 64
"""Elements of each array that a plan learns from at first."""

MAX_ON_LOOP = 20_000
"""Parts of a value that are projected or validated on the event loop, about 1 MB; larger values go to a thread."""

MAX_WILDCARDS_ON_LOOP = 16
"""Wildcards of a request whose plan is made on the event loop. More can multiply to 0.7 s, and go to a thread."""

MAX_TURN_S = 0.005
"""Seconds of work on a tool list without yielding. Another request's answer takes some ten turns of the event loop."""

MAX_READING_STEPS = 20_000
MAX_VIEWS_STEPS = 10 * MAX_READING_STEPS
"""Schemas read to check the paths of a request, about 0.1 s, or of all views of a tool. Over it every path is known."""

MAX_INFERRED_DEPTH = 32
MAX_INFERRED_NAMES = 256
"""Levels of an inferred schema, as many as a path has, and members of one place. With more, the names are data."""

MAX_EXTENDS = 32
"""Views in a row that extend one another."""

MAX_QUERY_CHARACTERS = 4096
"""Length of a search query for tools, in code points: a page. Each of its words is looked up once."""

MAX_NEEDS = 20
"""Things to be done in one query, each with a ranking of its own; further ones are ignored."""

QUERIES_PER_MINUTE = 120
"""Search queries of one caller in a minute, by default."""

MATCHES_A_PAGE = 20
"""Tools on a page of search results. A model without a match among twenty needs other words."""

MAX_SEARCHED_CHARACTERS = 20_000
"""Code points of each text of a tool that are searched: five times the longest of 527 real tools."""

MAX_WORD_CHARACTERS = 100
"""Length of a word in the search index, in code points. Longer strings are not search terms."""

MAX_MEANING_CHARACTERS = 600
"""Code points of a tool whose meaning is searched: the first sentences say what it does, later ones how."""

MAX_VECTOR_DIMENSIONS = 1024
"""Dimensions of word vectors. The products of longer ones would not be exact in 32 bits."""

MAX_SEARCH_TERMS = 50
"""Search terms in the description file of a tool: more describe the tool, not what it is searched by."""

MAX_SEARCH_TERM_CHARACTERS = 100
"""Length of one of them, in code points: a phrase."""

MAX_RANKED_TOOLS = 100_000
"""Tools in the search indexes of one server, one index for each caller with a list of its own: some 150 MB."""

CALM_S = 0.25
"""Shortest time between two notifications of changes of one list, in seconds: a list may change 20,000 times."""

MAX_UPSTREAM_BYTES = 8 * 1024 * 1024
MAX_UPSTREAM_MEMBERS = 1000
MAX_UPSTREAM_DEPTH = 128
"""Message of an upstream: bytes after decompression, compressed members (64 kB blocks make 128), levels of nesting."""

MIN_BACKOFF_S = 0.25
"""First wait before retrying an upstream that failed, in seconds; each further wait is twice as long."""

MAX_URI_PARTS = 64
"""Parts of a resource's URI that are tried as the URI of a watched parent."""

MAX_EXPLAINED_PATHS = 5
"""Unknown fields that a message explains one by one; the receipt lists all."""

LAST_WORDS = 10
"""Last lines of a server's standard error that are shown if the server is unavailable."""

MAX_BACKOFF_S = 30.0
"""Longest wait before retrying an upstream, in seconds, and the wait after `MAX_FAILURES`."""

DISCOVER_TIMEOUT_S = 5.0
"""How long an upstream may take to announce 2026-07-28, in seconds."""

OPENING_TIMEOUT_S = 30.0
"""How long an upstream may take to open, in seconds (`npx` downloads it first), unless its call timeout is longer."""

LEFT_OUT_S = 8.0
"""Seconds until a list goes on without slow servers. Hosts wait 10 s; `npx` starts a downloaded server in less."""

MAX_FAILURES = 5
"""Failures in a row, after which an upstream is not retried for `MAX_BACKOFF_S`."""

MAX_REFUSED = 1000
"""Refused sessions of clients whose backoff is remembered."""

STAYED_S = 10.0
"""Uptime after which the end of an unused upstream is no failure, in seconds. A misconfigured server ends sooner."""

MAX_SESSIONS = 200
"""Sessions with one upstream, where each client has its own."""

UNUSED_S = 60.0
"""Idle time after which a session ends if another finds no room, in seconds. Crashed clients do not close theirs."""

PROCESS_IDLE_S = 1800.0
"""Idle time after which a server's process ends, in seconds: as long as a silent session over HTTP lasts."""

PROCESS_BYTES = 128 * 1024 * 1024
PROCESS_FILES = 4
MIN_PROCESSES = 32
"""Memory of a server's process (Python and Node.js take some 70 MB, and not all is for them), and the gateway's files
for it: three pipes and the process. A machine has room for as many, and for the servers of one host at least."""

MAX_UNREAD = 10_000
MAX_UNREAD_CHARACTERS = 8 * 1024 * 1024
"""Notifications that wait for one client, as many as `MAX_EVENTS`, and their characters; a single one may be larger."""

MAX_WATCHED = 10_000
"""Resources that one request of 2026-07-28 watches. A change subscribes to all of them again: 60,000 take 0.3 s."""

MAX_PARKED = 100
"""Calls that wait for answers of a 2026-07-28 client. Over it the oldest go, those of the same owner first."""

PARKED_S = 300.0
"""How long such a call waits, in seconds; then it is cancelled at the upstream."""

ABANDONED_S = 60.0
"""How long a cancelled call without an answer can be the cause of an upstream's request, in seconds."""

MAX_ABANDONED = 1000
"""Cancelled calls of one connection that are remembered. Over it the oldest go, those of the same client first."""

MAX_ROUNDS = 10
"""Rounds of `input_required` within one call."""

MAX_LISTENERS = 1024
MAX_UNHEARD_EVENTS = 1024
"""Streams of `subscriptions/listen`, and changes that wait for one of them; over it the stream is ended."""

MAX_HTTP_SESSIONS = 10_000
HTTP_SESSION_IDLE_S = 1800.0
"""Sessions of 2025-11-25 over HTTP, and how long one lasts without an open request or stream, in seconds."""

MAX_UNDELIVERED = 100
"""Updates of resources, of other replicas, that wait for a client that reads slowly; further ones are dropped."""

SEALED_SESSION_S = 7 * 86_400.0
"""How long after `initialize` any replica opens a session by its id, in seconds. Hosts run for days."""

MAX_SESSION_ID = 3000
"""Longest sealed session id, in characters: proxies take heads of 4 kB. What hosts send needs some 400."""

MAX_ENDED_SESSIONS = 10_000
"""Ended sessions whose sealed ids a replica refuses, the latest."""

MAX_EVENT_REQUEST_ID = 100
"""Longest id of a request within the id of an event, in characters of JSON: so a replica can say what is lost."""

MAX_WORKERS = 64
WORKER_RESTART_S = 0.5
"""Worker processes, and the pause before one that has died is started again, in seconds."""

STATE_ANSWER_S = 2.0
"""How long a store of state that replicas share may take to answer, in seconds. One next door takes a millisecond."""

STATE_RETRY_S = 1.0
"""How long such a store is left alone after it has failed, in seconds; what needs it is refused meanwhile."""

CONFIG_SETTLED_S = 120.0
"""Time after which it is logged that replicas differ in configuration, in seconds: a new file reaches all within it."""

STATE_SILENT_S = 15.0
"""Silence after which it is checked that the channel of the replicas is still connected, in seconds."""

STATE_CONNECTIONS = 4
"""Connections of a replica to Postgres, besides that of the channel. Only kept results use them."""

MAX_STATE_MESSAGE = 7000
"""Longest message to the other replicas, in characters: Postgres takes 8,000 bytes."""

MAX_UNSENT_MESSAGES = 1000
"""Messages that wait for a store that is slow, at most 7 MB; further ones are dropped, as if it were away."""

MAX_SHARED_RESULT_BYTES = 32 * 1024 * 1024
"""Largest result in a store that replicas share, in bytes of JSON: it is sent within `STATE_ANSWER_S`."""

TOOL_PINS_S = 30 * 86_400.0
TOOL_PINS_RENEWED_S = 86_400.0
"""How long replicas remember a server's tools that none of them lists, and how often that is renewed, in seconds."""

REPLICA_CONNECT_S = 2.0
"""How long a connection to another replica may take, in seconds, before its sessions count as lost."""

REPLICA_SILENT_S = 30.0
"""How long another replica may be silent, in seconds: it begins a stream at once, and pings every `PING_S`."""

REPLICA_IDLE_S = 2.0
"""How long an unused connection to another replica is kept, in seconds. A replica closes one after five: a request sent
just then would be lost."""

MAX_CLIENT_CONNECTIONS = 20_000
"""Connections of clients, two for each of `MAX_HTTP_SESSIONS`; half of the files that the process may open, if fewer.
One principal, or one address without tokens, has at most half of them with open requests."""

EVICTED_SHARE = 64
"""One in so many connections of clients is closed if it is idle and a burst finds no room: looking takes long."""

MAX_PEER_SESSIONS = 1000
"""Sessions of 2025-11-25 of one principal, or of one address without tokens: programs that crash each leave one."""

MAX_PEER_UPSTREAM_SESSIONS = 50
"""Sessions with one upstream for one such client, each a process over stdio; a host opens one for each window."""

MAX_PEER_LISTENERS = 128
"""Streams of `subscriptions/listen` of one such client; a host needs one for each window."""

MAX_PEER_BODY_BYTES = 64 * 1024 * 1024
"""Bytes of unfinished bodies of one such client: 16 of the largest messages at once."""

MAX_PEER_UNANSWERED_BYTES = 32 * 1024 * 1024
"""Bytes of unanswered requests of one such client: 8 of the largest, which take 13 times as much once they are read."""

MAX_OPENING_BYTES = 16 * 1024
"""Largest `initialize`, in bytes. It is kept as long as its session, and hosts send some 500 bytes."""

MAX_PEER_UNREAD_BYTES = 256 * 1024 * 1024
"""Bytes of answers that one address has not read, over its connections with more than 64 KiB of them: dozens of large
answers at once. The connection that goes over it is closed."""

RETRY_LATER_S = 1
"""When a client that is over its budget should try again, in whole seconds."""

CLOSING_S = 5.0
"""How long the end of a connection may take, in seconds."""

MAX_EVENTS = 10_000
MAX_EVENT_BYTES = 1024 * 1024
"""HTTP events that are kept for clients that resume a stream, and their bytes; the latest event is always kept."""

RETRY_MS = 500
"""When a client with a closed stream should reconnect, in milliseconds."""

PING_S = 15.0
"""Silence after which an HTTP answer becomes a stream with pings, in seconds."""

CLIENT_SILENCE_S = 30.0
"""How long the head of a request may take, a body may pause, and a response may go unread, in seconds; then the
connection is closed."""

MIN_BODY_RATE = 1024
"""Slowest body of a client after `CLIENT_SILENCE_S`, in bytes a second: a modem is faster, and Apache asks for 500."""

MAX_SMALL_CHUNKS = 1000
MIN_CHUNK_BYTES = 64
"""Chunks of a client's body; further ones have at least so many bytes on average. Each takes some 5 µs to read."""

WATCH_AFTER_S = 0.05
"""Work on a request after which the gateway watches for a disconnect of its client, in seconds."""

DRAIN_S = 5.0
"""How long calls may continue during shutdown, in seconds; the process ends within 10."""

FOLLOWED_S = 1.0
"""How often the configuration file is checked for changes, in seconds."""

MAX_CLIENT_LINE = 4 * 1024 * 1024
"""Largest message of a client, in bytes."""

MAX_UNFORWARDED = 1000
"""Notifications of a client that wait for an upstream. Over it they are refused (HTTP), or not read (stdio)."""

MAX_ID_CHARACTERS = 1000
MAX_ID_BITS = 1024
"""Longest id of a client's request, as a text and as a number."""

MAX_CLIENT_VALUES = 200_000
MAX_CLIENT_CONTAINERS = 100_000
"""Elements and members of a client's message (parsed on the event loop in 0.1 s), and slower arrays and objects."""

MAX_CLIENT_DEPTH = 128
"""Nesting of a client's message, in levels."""

MAX_TELLING_BYTES = 1024
"""Bytes at both ends of a message that is too long, or no message; they are looked at to identify it."""

MAX_UPSTREAM_CONTAINERS = 1_000_000
"""Arrays and objects in an upstream's message. 8 MB of `[],` become 200 MB of lists."""

MAX_TOOL_BYTES = 256 * 1024
"""Tool definition of an upstream, in bytes without icons; a larger one is left out. GitHub's largest has 74 kB."""

CATALOGUE_KEPT_S = 7 * 86_400.0
"""How long the kept catalogue of an upstream is used, in seconds: a week."""

MAX_CATALOGUE_BYTES = 4 * 1024 * 1024
MAX_CATALOGUES = 256
"""Bytes of a kept catalogue, which is read in 50 ms, and catalogues of a user. GitHub's 90 tools have 100 kB."""

MAX_KNOWN_DEFINITIONS = 100_000
"""Pinned tools of an upstream: 20 MB. Changes of further tools go unnoticed, or these are blocked where changes are."""

MAX_INTEGER_DIGITS = 10_000
"""Digits of an integer of an upstream; reading and writing one takes quadratic time."""

MAX_READ_ON_LOOP = 256 * 1024
"""Largest message that is parsed on the event loop, in bytes, some 5 ms; larger ones go to a thread."""

MAX_HTTP_HEAD = 16 * 1024
"""Bytes of HTTP without progress, such as an unfinished head, from clients and upstreams; the default of h11."""

MAX_LINES_A_TURN = 1000
MAX_EVENTS_A_TURN = 4
"""Lines and events of an upstream's stream that are read before other tasks have a turn: some 0.5 ms each, or fewer
that have `MAX_READ_ON_LOOP` bytes together, since those can take 100 ms."""

MAX_UPSTREAM_PENDING = 1024 * 1024
"""Unread bytes of an upstream. Over it the gateway stops reading, so that the upstream waits."""

MAX_UPSTREAM_UNSENT = 4 * 1024 * 1024
"""Bytes that an upstream has not read. Over it calls fail instead of waiting."""

MAX_UPSTREAM_QUESTIONS = 200
"""Requests of an upstream until their answers are sent, one for each of `MAX_SESSIONS`; further ones get no answer."""

MAX_PEER_QUESTIONS = MAX_UPSTREAM_QUESTIONS // 2
"""Requests of an upstream that one principal, or address, has not answered: the others are asked meanwhile."""

MAX_UPSTREAM_CONNECTIONS = 400
MAX_UPSTREAM_IDLE = 100
"""Connections to one HTTP upstream, two for each of `MAX_SESSIONS`, and unused ones among them. Over it calls fail."""

MAX_PEER_CALLS = MAX_UPSTREAM_CONNECTIONS // 2
"""Calls of one HTTP upstream by one principal, or address, each over a connection: the others need some too."""

MAX_UPSTREAM_SENDS = 16
"""Messages without an answer that an HTTP upstream gets at once, each over a connection; further ones wait."""

MAX_UPSTREAM_NOTIFICATIONS = 200
"""Notifications that an HTTP upstream has not accepted yet; further ones are dropped."""

MAX_ACCESS_TEXT = 100
"""Longest path, method or name in a line of the access log, in characters; so a line is written at once to a pipe."""

MAX_UNWRITTEN_LINES = 10_000
LINES_CLOSING_S = 1.0
"""Lines of the access log that wait for their reader, some 3 MB, and how long a process that ends waits for it, in
seconds; further ones are dropped."""

MAX_LOG_LINE = 1000
MAX_LOG_LINES = 100
"""Bytes of a line of an upstream's standard error in the log, and lines at once, some 256 kB; the rest is dropped."""

UPSTREAM_EXIT_SECONDS = 2.0
"""How long a process may take to end after its input is closed, and again after SIGTERM, as in the SDK."""

UPSTREAM_LAST_WORDS_SECONDS = 0.05
"""How long the gateway reads the output of an ended process that another process keeps open."""

HEADERS_HELPER_S = 10.0
HEADERS_HELPER_PAUSE_S = 10.0
"""How long a `headersHelper` may run, as in Claude Code, and until it runs again for an upstream that still refuses."""

MAX_SECRET_BYTES = 64 * 1024
"""Bytes of a file with a secret, and of what a `headersHelper` prints. Servers take 8 to 64 kB of headers."""

UPSTREAM_CONNECT_SECONDS = 10.0
"""How long connecting to an HTTP upstream may take."""

UPSTREAM_IDLE_SECONDS = 4.0
"""How long an idle HTTP connection stays open. Common servers close theirs after 5, and no call should meet that."""

UPSTREAM_GOODBYE_SECONDS = 1.0
"""How long anything without a waiting client may take: the rest of a stream, a cancellation, a DELETE."""

UPSTREAM_SEND_SECONDS = 5.0
"""How long an HTTP upstream may take to accept an answer or a notification; a 202 has no body and waits for nothing."""

MAX_UPSTREAM_REST = 64 * 1024
"""Bytes of a response that are read and discarded, as they came, so that its connection can be used again."""

UPSTREAM_RETRY_SECONDS = 1.0
"""When a broken stream is resumed, unless the upstream says otherwise."""

MIN_UPSTREAM_RETRY_SECONDS = 0.1
MAX_UPSTREAM_RETRY_SECONDS = 30.0
"""Shortest and longest wait before a stream is resumed, whatever the upstream says."""

MAX_RESUMPTIONS = 5
"""Attempts in a row to resume the stream of a call without a new event."""

MAX_EVENT_ID = 1024
"""Longest event id that is kept for resuming a stream, in bytes: it is sent as a header."""

MAX_SUMMARY = 200
"""Longest summary of a tool in a list without its description, in code points: a long sentence."""

MAX_URI_BYTES = 8 * 1024
"""Longest URI of ours that is parsed, in bytes: room for `MAX_TOOLS_READ` long names, or many paths. Longest URI of
any other resource that is watched, remembered or matched against templates, in characters."""

MAX_PEER_TASKS = 1000
"""Tasks at one upstream that are bound to one client, and that it may read: hosts have a few at a time."""

MAX_TASK_PEERS = 1000
"""Clients of one upstream with bound tasks; of more, those that made one last."""

MAX_TASKS = 10_000
"""Tasks of several servers with a known owner. For an older task the servers are asked."""

MAX_TEMPLATES = 1000
"""Resource templates of one server that are matched against a URI that no server lists."""

MAX_TOOLS_READ = 50
"""Tool descriptions in one read. A model that needs more has not chosen yet."""

MAX_AVAILABLE_TOOLS = 20
"""Tools that the error for an unknown tool suggests; a catalogue can have ten thousand."""

READS_PER_MINUTE = 120
"""Reads of descriptions by one caller in a minute, by default. A task takes one or two."""

MANY_UNKNOWN_TOOLS = 50
"""Unknown tools that one caller requests in a minute before it is logged: it is guessing."""

MANY_TOOLS = 50
"""Smallest catalogue for which it is logged if one caller reads all descriptions in a minute."""

GRANT_S = 3600
"""How long a grant is valid, in seconds: a long conversation. 2026-07-28 has no sessions that could end it."""

DEFINITIONS_S = 60.0
"""How long a server's list stays valid without a notification, in seconds: those of another worker are not received."""

MAX_OUTLINE_DEPTH = 3
MAX_OUTLINE_MEMBERS = 100
"""Names deep, and members in all, that an outline shows of a schema; the schema itself has the rest."""

MAX_OUTLINE_VALUES = 12
"""Values of an `enum` that an outline shows instead of its type."""

MAX_WEIGHED_DEPTH = 6
"""Names deep that fields are measured, each again as a part of its parents."""

MAX_SHAPE_FIELDS = 200
"""Fields that a preview lists. A value with more is a map, or is read in parts."""

HEAVY_CHARACTERS = 200
"""Longest text of a field that a suggested view keeps, in characters: a sentence or two."""

MAX_CHARTED_FIELDS = 40
"""Fields in a bar chart, the heaviest of an answer."""

MAX_PREVIEW_BYTES = 600
MAX_SUGGESTED_BYTES = 250
"""JSON of a kept result's preview, and within it of the suggested view; a larger view is left out."""

MAX_SCALAR_BYTES = 200
"""JSON of the scalars that are shown of a kept result, in bytes."""

KEPT_OVER_BYTES = 100_000
"""Size over which an answer is stored instead of sent, in bytes of JSON, by default."""

KEPT_MINUTES = 10.0
MAX_KEPT_MINUTES = 1440.0
"""How long a result is kept by default, a few steps of a task, and at most, in minutes."""

MAX_RESULTS = 1000
MAX_RESULTS_BYTES = 256 * 1024 * 1024
"""Results in one store, the oldest go first, and their bytes of JSON. A larger result is sent unchanged."""

SWEEP_AFTER_S = 1.0
"""Delay after which expired results are removed together, in seconds."""

SWEEP_AGAIN_S = 60.0
"""Delay before expired results are removed again from a file that was locked, in seconds."""

HANDLE_BYTES = 24
"""Randomness in the handle of a kept result, in bytes: 192 bits, more than can be guessed."""

ITEMS_A_PAGE = 100
"""Elements of the longest array on a page of a kept result: as many as cause no warning."""

MANY_ITEMS = 100
MANY_CHARACTERS = 50_000
"""Elements of an array, and characters of an answer (some 14,000 tokens), that cause a warning by default."""

CHARACTERS_A_TOKEN = 3.5
CHARACTERS_A_LIST_TOKEN = 4.5
"""Characters in a model's token, on average: of JSON, and of lists of tools (4.55 in those of five public servers)."""

SERVER_LOOK_S = 5.0
"""How long a list of servers waits for one that is opening, in seconds; then it shows its current state."""

MAX_CALL_NAMES = 100_000
"""Cached tool names for scripts: of many callers, or ten very large servers."""

MAX_SCRIPT_BYTES = 64 * 1024
"""Longest script, in bytes."""

SCRIPT_WALL_S = 5.0
SCRIPT_HARD_WALL_S = 30.0
"""How long a script may take without, and with, its waits for upstreams, in seconds."""

SCRIPT_CPU_S = 2
"""CPU time of a script's process, in whole seconds, as the kernel counts; then the process is killed."""

MAX_SCRIPT_HEAP = 32 * 1024 * 1024
"""Memory of a script's own values, in bytes: several times all of its replies (8 MiB)."""

MAX_SCRIPT_MEMORY = 192 * 1024 * 1024
"""Address space of a script's process, in bytes: 20 MB for the interpreters, the heap, and copies of texts."""

MAX_SCRIPT_CALLS = 20
MAX_SCRIPT_CALLS_AT_ONCE = 4
"""Tool calls of one script, and those at the same time; further ones wait."""

MAX_SCRIPT_PATH_LISTS = 20
"""Lists of field paths that one script projects by. Parsing one takes the gateway up to 7 ms."""

MAX_SCRIPT_ARGUMENTS = 256 * 1024
MAX_SCRIPT_REPLY = 1024 * 1024
"""JSON of a call's arguments, and of its reply, in bytes. A script gets less by naming `fields`."""

MAX_SCRIPT_TRAFFIC = 8 * 1024 * 1024
"""All bytes between a script and the gateway, so that calls cannot keep the gateway busy with parsing."""

MAX_SCRIPT_RESULT = 256 * 1024
MAX_SCRIPT_RESULT_DEPTH = 32
"""JSON of a script's result, in bytes: more than a model reads; and levels of a result or of arguments."""

MAX_SCRIPT_MESSAGE = 1000
"""Length of the message of a script's error, in code points."""

MAX_SCRIPTS = 4
MAX_SCRIPTS_WAITING = 16
"""Scripts that run at once, one for each caller, and that wait; one more is refused."""

NICENESS = 10
"""The `nice` value of scripts: an endless loop gets a tenth of a busy core."""

SPARE_CHILDREN = 2
"""Processes ready for the next scripts: a fork takes longer than most scripts."""

SANDBOX_STARTING_S = 10.0
SANDBOX_GIVING_S = 2.0
SANDBOX_ENDING_S = 2.0
"""How long the sandbox may take to start, to provide a process, and to end or kill one, in seconds."""

MAX_SELECTED = 256
"""Members that a view selects of one object."""

TOOLS_LISTED = 50
"""Tools that the single tool lists at a time, by default."""

AUDIT_DAYS = 365.0
"""How long an audit record is kept by default, in days: auditors look at a year."""

AUDIT_SWEPT_S = 86_400.0
"""How often expired audit records are removed, in seconds: once a day."""

MAX_UNSHIPPED_RECORDS = 1_000_000
"""Audit records that wait to be shipped: some 0.4 GB of disk, and 28 hours of ten calls a second."""

AUDIT_SHIPPED_S = 1.0
"""How often audit records are shipped, in seconds. A replica whose disk is lost loses those since."""

MAX_SHIPPED_RECORDS = 1000
"""Audit records that are shipped at once: 0.4 MB where answers have ten fields."""

AUDIT_SHIPPING_S = 30.0
"""How long shipping records at once may take, in seconds. It takes some 50 ms."""

AUDIT_CLOSING_S = 2.0
"""How long a gateway that ends ships its last audit records, in seconds; the rest waits in the file."""

DATABASE_BUSY_S = 5.0
"""How long a write waits for another process that writes to the file, in seconds. A write takes milliseconds."""

SAVINGS_DAYS = 400
"""How long savings are kept, in days: a year can be compared with the month before it."""

SAVINGS_WRITTEN_S = 3.0
"""Time between two writes of savings, in seconds. A process that is killed loses what it has counted since the last."""

MAX_MEASURED_FIRST = 16 * 1024
"""Largest answer that is measured before it is sent, in bytes, some 20 us: another turn of the loop takes as long."""

MAX_UNMEASURED = 16
"""Large answers that are measured at once, some 10 ms each. More are not counted, since each is held meanwhile."""

MAX_SAVINGS_KEYS = 5000
"""Tools and views that one process counts by name; the rest is counted together."""

MAX_SAVINGS_NAME = 128
"""Characters of a name in a file of savings: MCP recommends at most so many for a tool."""

MAX_CHARTED_DAYS = 30
"""Days in the chart of `louver saved`: a screen of bars."""

CLOCK_SKEW_S = 30
"""Accepted difference to the clock of an issuer, in seconds: network time is closer than that."""

MAX_TOKEN_CHARACTERS = 16 * 1024
"""Longest bearer token, in characters. Tokens with many groups have some 8,000."""

MAX_AUTH_BYTES = 256 * 1024
"""Largest answer of an issuer, in bytes: a hundred keys with their certificates."""

AUTH_FETCH_S = 5.0
"""How long an issuer may take to answer, in seconds: the client waits meanwhile."""

MAX_JWKS = 100
"""Keys of one issuer. Ten are many."""

JWKS_AGAIN_S = 60.0
JWKS_RETRY_S = 5.0
"""Shortest time between two reads of an issuer's keys, and while none are known, in seconds."""

JWKS_FRESH_S = 600.0
JWKS_KEPT_S = 3600.0
"""Age at which keys are read again (a revoked key stays valid so long), and at which they expire, in seconds."""

INTROSPECTED_S = 30.0
"""How long an introspection result is valid, in seconds: a revoked token stays valid so long."""

MAX_INTROSPECTED = 10_000
MAX_INTROSPECTIONS = 16
"""Cached introspection results, and requests at once; others wait. Any client can send tokens."""

MAX_ADDRESS_INTROSPECTIONS = 4 * MAX_INTROSPECTIONS
"""Unknown tokens of one address that are checked or wait for that: other addresses wait for four answers at most."""

LOGIN_AHEAD_S = 300.0
LOGIN_AHEAD_SHARE = 0.25
"""How long before its end an OAuth login at a server is renewed, in seconds; of a short one, the last quarter."""

LOGIN_LOOK_S = 30.0
LOGIN_PAUSE_S = 1.0
"""How often it is looked whether a login is due, and how often at most, in seconds: clocks jump, and machines sleep."""

LOGIN_FRESH_S = 10.0
"""Age under which a refused access token is not renewed again, in seconds: the server refuses the login itself."""

LOGIN_WAIT_S = 600.0
"""How long `louver login`, and the link that a caller gets, wait for somebody to log in, in seconds."""

LOGIN_ACCEPTED_S = 45.0
LOGIN_POLL_S = 0.25
"""How long a call waits for a login once its caller has opened the page, and how often it looks, in seconds: clients
give up on calls after 60."""

MAX_LOGIN_NOTES = 10_000
"""Logins under way that one process remembers: links, and the states of authorization servers. A note is 500 bytes."""

MAX_UPSTREAM_PRINCIPALS = 1_000
"""Principals that use one upstream with logins of their own at the same time: each has two MCP sessions at most, for
clients of either kind of revisions, of two or three connections each."""

MAX_EXCHANGED_TOKENS = 8
"""Tokens of one principal that are exchanged for one upstream at the same time: some windows of its program, and the
token that comes after each."""

LOGIN_SHARED_LOOK_S = 5.0
LOGIN_KEPT_S = 400 * 86_400.0
"""How often a replica looks for changed logins in the shared state, and how long one is kept there, in seconds."""

LOGIN_LOCK_S = 30.0
LOGIN_LOCK_WAIT_S = 15.0
"""How long a replica may hold a login to renew it (some requests of `AUTH_FETCH_S`), and others wait, in seconds."""

MAX_LOGIN_BYTES = 1024 * 1024
"""Largest file with a login, in bytes: two tokens, and two answers of an issuer of `MAX_AUTH_BYTES`."""

KEYRING_S = 10.0
"""How long the system's keyring may take, in seconds: it may ask somebody for a password."""

MAX_CHECKS = 100_000
MAX_CHECKS_A_PART = 50
"""Schema checks of an answer that a client reads, 3 s in Python, plus so many for each part. Over it: shape only."""

MAX_CACHED_SCHEMAS = 256
"""Projected schemas that a client caches by tool and request."""

MAX_FIT_STEPS = 20_000
"""Pairs of schemas compared to check a type against a tool, about 0.1 s. Over it every type fits."""

MAX_HOST_FILE_BYTES = 32_000_000
"""Largest file of a host that is read, in bytes: Claude Code keeps a history beside its servers."""

MAX_DOCTOR_SERVERS = 64
DOCTOR_START_S = 60.0
DOCTOR_CALL_S = 10.0
"""Servers of one file that `louver doctor` starts, and seconds for each start (it may download a package) and call."""

MAX_DOCTOR_CALLS = 20
"""Tools of one file that `louver doctor` calls unasked-for by name, to see how much they answer."""

MAX_DESCRIBED_TOOLS = 16
"""Tools whose descriptions are requested to find out what one costs on average, spread evenly over all."""
