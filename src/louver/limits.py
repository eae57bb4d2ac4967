"""Every bound, with its unit and its reason.

A bound is a promise in both directions: what stays under it is served. What goes
over it is refused with `PROJECTION_LIMIT` (a request), answered with the always
sound shape (a schema), read as no JSON (a text), or forgotten (what is only kept to
be fast).
"""

MAX_PATHS = 256
"""Field paths in one request. A longer list says "everything but", which exclude says shorter."""

MAX_PATH_CHARACTERS = 512
"""Length of one field path, in code points. Bounds the reading of it."""

MAX_ARGUMENT_CHARACTERS = 45
"""Characters of field names, and of view names, in the description of the argument: models read it with every list."""

MAX_ARGUMENT_SHARE = 0.065
"""How much longer the argument makes a list of tools, at most. Past that, tools with fewer fields go without."""

MIN_ARGUMENT_ROOM = 500
"""Characters that the argument may take in any list: of four tools or so."""

MAX_NAMED_FIELDS = 60
"""Fields that an error names, when a model has named none of them."""

LEARNT_AFTER = 3
"""Answers in a row without a new field, after which the fields of a tool are taken for known."""

MAX_LEARNT_SAMPLES = 20
"""Answers of one tool that are looked at after each start."""

MAX_LEARNT_FIELDS = 500
"""Fields of one tool that are learnt. One with more has data for names."""

MAX_REMEMBERED_PATHS = 32
"""Field paths of a request that is remembered as it was read. The latest 512 are; longer ones are read anew."""

MAX_SEGMENTS = 32
"""Longest path, in segments. Bounds the recursion of every later step; advertised as `maxDepth`."""

MAX_VIEWS = 256
"""Views of one tool that stand in one place, as its hint or a file. Each is held against its schema."""

MAX_SHAPING_VIEWS = 16
"""Those of them that shape. Each makes a plan for what the tool lists, of its schema as a whole."""

MAX_TOLD_FIELDS = 256
"""Fields of one answer that an audit record names. More are not told: a value can have a name for each row."""

MAX_AUDIENCES = 64
"""Sets of callers that may see the same, for which lists, plans and searches are kept. Each keeps its own."""

MAX_SIGHTS = 16_384
"""What callers see of tools, made ready: one for each tool and each set of rules that counts for somebody.

Likewise, the tools of one server that its policy knows, as they were last listed.
"""

MAX_APPLIED = 500_000
"""Parts of a derived schema, counted each time that one is referred to. The largest of 787 real ones has under 20,000.

Thirty schemas that each refer twice to the next have 2^30, and whoever applies them takes every way.
"""

MAX_KEPT_NAME = 256
"""Characters of the longest name whose form without case and the like is kept for the next time; most have a few."""

MAX_TWIN_PATHS = 1024
"""Denied paths of one rule, with those that twins of their names make of them. A schema has few twins, if any."""

MAX_MASK_STATES = 4096
"""States of a determinised mask. Twelve short paths with wildcards can ask for 196,406."""

MAX_MASK_STEPS = 600_000
"""Elementary steps of determinising a mask. Few states with wide sets cost as much as many states."""

MAX_SCHEMA_STEPS = 20_000
"""Schema objects visited by one derivation. Over it: shape only."""

MAX_SCHEMA_DEPTH = 80
"""Schema objects nested in one another, written out, in one derivation. Over it: shape only."""

MAX_INLINE_DEPTH = 40
"""Depth to which single-use definitions are written in place, in levels of JSON."""

MAX_SUGGESTION_NAMES = 1000
"""Names of a schema that are compared with an unknown one to suggest what was meant."""

MAX_PLANS = 4096
"""Plans kept for the tools of one server; those that were not used for long go first."""

MAX_PLAN_NODES = 500_000
"""Likewise, the size of them all: nodes of their masks and JSON values of their schemas, some 100 MB."""

MAX_TOOL_PAGES = 100
"""Pages of a `tools/list` that are read, so that a cursor which never ends cannot hang a call."""

MAX_JSON_DEPTH = 200
"""Nesting of JSON text that is read as structured output, in levels."""

MAX_WRITTEN_DEPTH = 250
"""Deepest nesting of a derived schema, in levels of JSON, so that any JSON reader takes it."""

MAX_PATTERN_CHARACTERS = 256
"""Longest `patternProperties` pattern that is run on a name, in code points."""

MAX_CALLERS = 256
"""Callers whose view of a server's tools is remembered, the least recently seen go first."""

MAX_BACKTRACKS = 100_000
"""Steps of matching one pattern with look-around, by the backend that can have them."""

MAX_KEPT_SCHEMAS = 1024
"""Projected schemas that a server serves by their digest, the least recently named go first."""

MAX_ARRAY_LEVELS = 64
"""Arrays directly in one another through which a named field looks; an array nested deeper is missing."""

MAX_WRITTEN_SIZE = 10 * MAX_SCHEMA_STEPS
"""Largest derived schema, in JSON values, a long text counted for one every 100 characters.

A large constant can be kept under each of the states of a mask.
"""

MAX_COMPARING = 2_000_000
"""Pairs of characters (30 more for each pair of names) that one reading compares to suggest what was meant: 0.1 s."""

MAX_GENERATED_LINES = 1000
"""Lines, and members, of generated code for one plan. A wider plan is kept by closures."""

MAX_GENERATED_DEPTH = 15
"""Nesting of generated code; Python itself stops at 20 loops. A deeper plan is kept by closures."""

MAX_GENERATIONS = 8
"""How often code is generated for one plan. The last is generated so that it expects nothing, and stays."""

FIRST_CALLS = 3
"""Values that are kept by closures, and learnt from, before code is generated."""

FIRST_ELEMENTS = 300
"""Likewise, elements of the root's arrays: of a large value one is enough."""

MAX_SHAPE_SAMPLES = 64
"""Elements of each array that are learnt from, at first."""

MAX_ON_LOOP = 20_000
"""Parts of a value that projecting or validating looks at on the event loop, about 1 MB; for more there is a thread."""

MAX_TURN_S = 0.005
"""Work on the tools of a list without a break in which others have their turn. Another's answer takes some ten turns
of the event loop, so it can be later by ten times this."""

MAX_READING_STEPS = 20_000
"""Schemas looked at to find what a request's paths mean. Over it every path is known: about 0.1 s."""

MAX_VIEWS_STEPS = 10 * MAX_READING_STEPS
"""Likewise, for the paths of all views of a tool: a thousand of them in the widest schemas of GitHub."""

MAX_INFERRED_DEPTH = 32
"""Levels of a value to which a schema is inferred. Below them nothing is said; paths are no longer than that."""

MAX_INFERRED_NAMES = 256
"""Members of one place of an inferred schema. Where there are more, the names are data and are not listed."""

MAX_EXTENDS = 32
"""Views that extend one another, in a row."""

MAX_QUERY_CHARACTERS = 256
"""Length of a query for tools, in code points. A model asks in a sentence; what is longer is a text, not a query."""

QUERIES_PER_MINUTE = 120
"""Queries for tools by one caller within a minute, unless the server says otherwise: two a second."""

MATCHES_A_PAGE = 20
"""Tools on a page of a search. Who does not find it among twenty needs other words."""

MAX_SEARCHED_CHARACTERS = 20_000
"""Of each text of a tool that is searched, in code points: five times the longest of 527 real tools."""

MAX_WORD_CHARACTERS = 100
"""Of what stands in one, in code points. Longer things are no words that somebody looks for."""

MAX_RANKED_TOOLS = 100_000
"""Tools in the indexes of one server, which callers with lists of their own have each: some 150 MB."""

CALM_S = 0.25
"""Shortest time between two notifications of a change of the same list, in seconds: one may change 20,000 times."""

MAX_UPSTREAM_BYTES = 8 * 1024 * 1024
"""Largest message of an upstream that the gateway reads, in bytes after decompression."""

MAX_UPSTREAM_MEMBERS = 1000
"""Members of a compressed message. One in blocks of 64 kB has 128; an empty one takes time and makes nothing."""

MAX_UPSTREAM_DEPTH = 128
"""Nesting of an upstream's message, in levels."""

MIN_BACKOFF_S = 0.25
"""First wait before an upstream that failed is tried again, in seconds; each further one is twice as long."""

MAX_URI_PARTS = 64
"""Parts of a resource's address by which is looked for what it is a part of."""

MAX_TOLD_PATHS = 5
"""Fields that an output does not have, of which each is told in words; all stand in the receipt."""

LAST_WORDS = 10
"""Lines of a server's standard error that are shown where it is not there."""

MAX_BACKOFF_S = 30.0
"""Longest such wait: after five failures in a row an upstream is left alone for so long."""

DISCOVER_TIMEOUT_S = 5.0
"""How long an upstream may take to say that it speaks 2026-07-28."""

OPENING_TIMEOUT_S = 30.0
"""How long an upstream may take to open at least, in seconds: `npx` downloads a server first. One that may be silent
for longer while it is called may be so then, too."""

LEFT_OUT_S = 8.0
"""After how long the opening, or a list, of several servers goes on without those that have not come, in seconds. Hosts
wait 10 at least, and some never hear of what comes later: so it is as long as that lets it be. `npx` and the like start
what they have downloaded before in less, several at once; a first download comes later."""

MAX_FAILURES = 5
"""Failures in a row after which an upstream is left alone for `MAX_BACKOFF_S`."""

MAX_REFUSED = 1000
"""Openings of clients that an upstream has refused, of which is known how long each waits."""

STAYED_S = 10.0
"""How long an upstream that has answered no client must have been there for its end to be no failure, in seconds.

A server that lacks something ends within the first few.
"""

MAX_SESSIONS = 200
"""Sessions with one upstream, of clients that each have their own."""

UNUSED_S = 60.0
"""How long a session of one client must not have been used, in seconds, to end where there are `MAX_SESSIONS` and
another client comes. Clients that crash say no goodbye, and the SDK waits half an hour for them."""

MAX_UNREAD = 10_000
"""Notifications that wait for one client to read them: as many as are kept for one that comes again (`MAX_EVENTS`)."""

MAX_UNREAD_CHARACTERS = 8 * 1024 * 1024
"""Likewise, characters of their JSON text; one of any size may wait alone."""

MAX_WATCHED = 10_000
"""Resources that one request of 2026-07-28 watches. All that are watched of a server are asked for anew each time: of
60,000 in 0.3 s."""

MAX_PARKED = 100
"""Calls that wait for a client of 2026-07-28 to come again with answers. Over it the oldest go, those of the same
server and principal first."""

PARKED_S = 300.0
"""How long such a call waits, in seconds; then the upstream is told that it is cancelled."""

ABANDONED_S = 60.0
"""How long a call that was given up, and is not answered, may be why an upstream asks something, in seconds. A server
that has heard of it never answers; most of those that have not do within a minute."""

MAX_REMEMBERED_METAS = 100
"""Different `_meta` of calls that are remembered as valid. Over it the oldest goes."""

MAX_REMEMBERED_META = 4096
"""The largest of them, in bytes; a larger one is looked at in each call."""

MAX_ABANDONED = 1000
"""Such calls over one connection that are remembered. Over it the oldest go, those of the same client first."""

MAX_ROUNDS = 10
"""Rounds of questions within one call."""

MAX_EVENTS = 10_000
"""Events over HTTP that are kept for clients that take up a broken stream again."""

MAX_EVENT_BYTES = 1024 * 1024
"""Likewise, in bytes; the latest is kept whatever its size, if need be beside these."""

RETRY_MS = 500
"""When a client whose stream was closed should come again, in milliseconds."""

PING_S = 15.0
"""After how long without a word an answer over HTTP becomes a stream that shows life, in seconds, as in the SDK."""

CLIENT_SILENCE_S = 30.0
"""How long a client over HTTP may be silent, in seconds, before it has said all of a request; then it is let go."""

WATCH_AFTER_S = 0.05
"""After how long of work on a request it is looked whether its client is still there, in seconds."""

DRAIN_S = 5.0
"""How long calls may go on once the process is told to end, in seconds; it ends within 10."""

FOLLOWED_S = 1.0
"""How often it is looked whether the configuration's file has changed, in seconds."""

MAX_CLIENT_LINE = 4 * 1024 * 1024
"""Longest message of a client over stdio, in bytes; over HTTP the SDK has the same bound."""

MAX_CLIENT_VALUES = 200_000
"""Values in one, elements and members, which are read on the event loop in up to 0.1 s. Four megabytes of numbers that
are written in full have as many."""

MAX_CLIENT_CONTAINERS = 100_000
"""Arrays and objects among them, each of which takes as long as several others: a million took seconds."""

MAX_CLIENT_DEPTH = 128
"""Nesting of one, in levels, as of an upstream's."""

MAX_TELLING_BYTES = 1024
"""Of a longer one, bytes of its beginning and again of its end that are kept: they tell whose it is."""

MAX_UPSTREAM_CONTAINERS = 1_000_000
"""Arrays and objects in an upstream's message. Eight megabytes of `[],` are 200 MB of lists, read in half a second."""

MAX_TOOL_BYTES = 256 * 1024
"""Bytes of a tool's definition that an upstream lists, about, without its icons; a larger one is left out. The
largest of GitHub's schemas has 74 kB; one of 8 MB took seconds on the event loop."""

MAX_KNOWN_DEFINITIONS = 100_000
"""Tools of an upstream whose definitions are remembered, ten times those of a large list: 20 MB. Whether a further one
has changed is not known, so it is not told, and is blocked where changes are."""

MAX_INTEGER_DIGITS = 10_000
"""Digits of an integer of an upstream; reading and writing one takes time by the square of them."""

MAX_READ_ON_LOOP = 256 * 1024
"""Largest message that is read on the event loop, in bytes: some 5 ms; a larger one goes to a thread."""

MAX_HTTP_HEAD = 16 * 1024
"""Bytes of HTTP that are waited for while they bring nothing, as those of a head do until it ends; of clients and of
upstreams alike. It is what h11 waits for of itself."""

MAX_UPSTREAM_PENDING = 1024 * 1024
"""Bytes of an upstream that wait to be taken. Over it no more is read of it, so that the upstream waits too."""

MAX_UPSTREAM_UNSENT = 4 * 1024 * 1024
"""Bytes that wait for an upstream to read them. Over it the upstream does not read: calls fail instead of waiting."""

MAX_UPSTREAM_QUESTIONS = 100
"""Questions of an upstream that are open at once; further ones get no answer."""

MAX_LOG_LINE = 1000
"""Length of a line of an upstream's standard error in the log, in bytes; the rest of it is left out."""

MAX_LOG_LINES = 100
"""Likewise, lines that come at once, some 256 kB."""

UPSTREAM_EXIT_SECONDS = 2.0
"""How long a process may take to end after its input is closed, and again after SIGTERM, as in the SDK."""

UPSTREAM_LAST_WORDS_SECONDS = 0.05
"""How long what a process has said last is waited for after it ended, if somebody else keeps its output open."""

UPSTREAM_CONNECT_SECONDS = 10.0
"""How long making a connection to an HTTP upstream may take."""

UPSTREAM_IDLE_SECONDS = 4.0
"""How long an HTTP connection is kept for the next call. Common servers close after 5, and no call should meet that."""

UPSTREAM_GOODBYE_SECONDS = 1.0
"""How long what nobody waits for may take: the rest of a stream after the answer, a cancellation, a goodbye."""

UPSTREAM_RETRY_SECONDS = 1.0
"""After how long a stream that ended is taken up again, where the upstream does not say."""

MIN_UPSTREAM_RETRY_SECONDS = 0.1
"""The shortest: an upstream that wants none would be asked without end, and nobody else served as soon."""

MAX_UPSTREAM_RETRY_SECONDS = 30.0
"""The longest that an upstream can make a stream wait, and the longest between two attempts."""

MAX_RESUMPTIONS = 5
"""Attempts in a row to take up a call's stream without anything new on it."""

MAX_EVENT_ID = 1024
"""Longest id of an event that is kept to take up a stream after it, in bytes: it is sent back as a header."""

MAX_SUMMARY = 200
"""Longest summary of a tool in a list that shows no more of it, in code points: a long sentence."""

MAX_URI_BYTES = 8 * 1024
"""Longest URI of ours that is read, in bytes: room for `MAX_TOOLS_READ` names of the longest kind, or many paths."""

MAX_TASKS = 10_000
"""Tasks of several servers of which is known whose they are. Whose an older one is the servers are asked."""

MAX_TEMPLATES = 1000
"""Templates of one server by which it is found whose an address is. Each is tried for an address that nobody lists."""

MAX_TOOLS_READ = 50
"""Descriptions in one read. Who needs more tools than that at once has not chosen."""

MAX_AVAILABLE_TOOLS = 20
"""Names that the answer for a tool that is not there suggests; a catalogue can have ten thousand."""

READS_PER_MINUTE = 120
"""Reads of descriptions by one caller within a minute, unless the server says otherwise. A task takes one or two."""

MANY_UNKNOWN_TOOLS = 50
"""Names of tools that are not there, asked for by one caller within a minute, that are logged: it is guessing."""

MANY_TOOLS = 50
"""Tools of a catalogue whose descriptions one caller reads all within a minute, which is logged. A smaller one may be
read whole."""

GRANT_S = 3600
"""How long a grant is good, in seconds: a long conversation. 2026-07-28 has no session whose end could end it."""

DEFINITIONS_S = 60.0
"""How long it counts what a server listed last, in seconds, if it tells of no change. Changes that another worker
tells are not heard."""

MAX_OUTLINE_DEPTH = 3
"""Names deep that the members of a schema are shown: who needs more reads the schema."""

MAX_OUTLINE_MEMBERS = 100
"""Members of a schema that are shown, likewise."""

MAX_OUTLINE_VALUES = 12
"""Values of an `enum` that are shown in place of its type."""

MAX_WEIGHED_DEPTH = 6
"""Names deep that the fields of an answer are weighed, each over again with what it stands in."""

MAX_SHAPE_FIELDS = 200
"""Fields in the shape of an answer: what has more is a map, or is asked for in parts."""

HEAVY_CHARACTERS = 200
"""Longest text of a field that a suggested view keeps, in characters: a sentence or two."""

MAX_CHARTED_FIELDS = 40
"""Fields of an answer in a chart, the heaviest: what is read at one look."""

MAX_PREVIEW_BYTES = 600
"""JSON of the fields in the preview of a kept result and of the view that it suggests, in bytes: it is below 2 kB."""

MAX_SUGGESTED_BYTES = 250
"""Of these, those of the view. One that needs more is not told."""

MAX_SCALAR_BYTES = 200
"""JSON of the scalars that are shown of such a result, in bytes."""

KEPT_OVER_BYTES = 100_000
"""Size over which an answer is kept instead of sent, in bytes of its JSON, unless the server says otherwise."""

KEPT_MINUTES = 10.0
"""How long a result is kept, in minutes, unless the server says otherwise: a few steps of a task."""

MAX_KEPT_MINUTES = 1440.0
"""Longest time that a server may say, in minutes: a day. What is needed for longer belongs elsewhere."""

MAX_RESULTS = 1000
"""Results that one store keeps; the oldest go first."""

MAX_RESULTS_BYTES = 256 * 1024 * 1024
"""Likewise, in bytes of JSON. A larger result is sent as it is."""

SWEEP_AFTER_S = 1.0
"""How long after it has expired a kept result is removed, in seconds: what expires together is removed at once."""

SWEEP_AGAIN_S = 60.0
"""How long after a file of results has not let that be done it is tried again, in seconds: who has it may be slow."""

HANDLE_BYTES = 24
"""Randomness in the handle of a kept result, in bytes: 192 bits, more than can be guessed."""

ITEMS_A_PAGE = 100
"""Elements of the longest array on a page of a kept result: as many as are no reason to warn."""

MANY_ITEMS = 100
"""Elements of an array over which is warned, unless the server says otherwise."""

MANY_CHARACTERS = 50_000
"""Characters of an answer over which is warned, unless the server says otherwise: some 14,000 tokens."""

CHARACTERS_A_TOKEN = 3.5
"""Characters of JSON that make a token of a model, on average."""

SERVER_LOOK_S = 5.0
"""How long a list of servers waits for one that is just being opened, in seconds: it is told as it stands then."""

MAX_CALL_NAMES = 100_000
"""Names of tools that are remembered for scripts: those of many callers, or ten very large servers."""

MAX_SCRIPT_BYTES = 64 * 1024
"""Longest script, in bytes. What is longer is a program, not a question."""

SCRIPT_WALL_S = 5.0
"""How long a script may take, in seconds, waiting for upstreams aside."""

SCRIPT_HARD_WALL_S = 30.0
"""How long it may take with all its waiting, in seconds: as long as one call of an upstream may."""

SCRIPT_CPU_S = 2
"""CPU time of a script's process, in whole seconds, in which the kernel counts. It is ended after that."""

MAX_SCRIPT_HEAP = 32 * 1024 * 1024
"""Memory of a script's own values, in bytes: replies of 8 MiB in all, several times over."""

MAX_SCRIPT_MEMORY = 192 * 1024 * 1024
"""Address space of a script's process, in bytes: the interpreters' 20 MB, the heap, and copies of texts that cross."""

MAX_SCRIPT_CALLS = 20
"""Calls of tools by one script."""

MAX_SCRIPT_CALLS_AT_ONCE = 4
"""Calls of one script that upstreams work on at the same time; others wait."""

MAX_SCRIPT_PATH_LISTS = 20
"""Lists of field paths that one script projects by. The gateway reads them, in up to 7 ms each, and does no more."""

MAX_SCRIPT_ARGUMENTS = 256 * 1024
"""The JSON of a call's arguments, in bytes."""

MAX_SCRIPT_REPLY = 1024 * 1024
"""The JSON of a reply to a call, in bytes. Who needs less of it names `fields`."""

MAX_SCRIPT_TRAFFIC = 8 * 1024 * 1024
"""All that goes between a script and the gateway, in bytes, so that calls cannot keep it busy with reading."""

MAX_SCRIPT_RESULT = 256 * 1024
"""The JSON of a script's result, in bytes: more than a model reads."""

MAX_SCRIPT_RESULT_DEPTH = 32
"""Nesting of what a script gives away, result or arguments, in levels."""

MAX_SCRIPT_MESSAGE = 1000
"""Length of what a script's error says, in code points."""

MAX_SCRIPTS = 4
"""Scripts that run at once, one for each caller."""

MAX_SCRIPTS_WAITING = 16
"""Scripts that wait for their turn; one more is refused."""

NICENESS = 10
"""By how much scripts give way to whatever else wants to run, as `nice` counts: one that loops gets a tenth of a core
that is wanted."""

SPARE_CHILDREN = 2
"""Processes kept ready for the next scripts: a fork takes longer than most scripts."""

SANDBOX_STARTING_S = 10.0
"""How long the sandbox may take to start, in seconds; it takes a tenth of one."""

SANDBOX_GIVING_S = 2.0
"""How long the sandbox's process may take to give a process to a script, in seconds; it takes a millisecond."""

SANDBOX_ENDING_S = 2.0
"""How long the sandbox's process may take to end by itself, in seconds, and one of its children to be ended."""

MAX_SELECTED = 256
"""Members that a view selects of one object. Who needs more wants the object."""

TOOLS_LISTED = 50
"""Tools that the one tool lists at a time, unless it is asked for more or fewer."""

AUDIT_DAYS = 365.0
"""How long an audit record is kept, in days, unless the configuration says otherwise: auditors look at a year."""

AUDIT_SWEPT_S = 86_400.0
"""How often records that are older go while the server runs, in seconds: once a day."""

AUDIT_BUSY_S = 5.0
"""How long a record waits for another process that writes to the same file, in seconds. A write takes milliseconds."""

CLOCK_SKEW_S = 30
"""By how much the clock of an issuer may differ from ours, in seconds: clocks that a network sets differ by less."""

MAX_TOKEN_CHARACTERS = 16 * 1024
"""Longest bearer token that is looked at, in characters. Tokens with many groups have some 8,000."""

MAX_AUTH_BYTES = 256 * 1024
"""Largest answer of an issuer, in bytes: a hundred keys with their certificates."""

AUTH_FETCH_S = 5.0
"""How long an issuer may take to answer, in seconds: the client waits meanwhile."""

MAX_JWKS = 100
"""Keys of one issuer. Ten are many."""

JWKS_AGAIN_S = 60.0
"""How often an issuer's keys are read again at most, in seconds, whatever keys tokens name."""

JWKS_RETRY_S = 5.0
"""Likewise, while none are known."""

JWKS_FRESH_S = 600.0
"""After how long an issuer's keys are read again, in seconds: so long a key counts that was taken back."""

JWKS_KEPT_S = 3600.0
"""How long keys count that cannot be read again, in seconds; then no token is taken."""

INTROSPECTED_S = 30.0
"""How long it counts what an issuer has said of a token, in seconds: so long a token counts that was taken back."""

MAX_INTROSPECTED = 10_000
"""Tokens of which that is remembered, those that were asked about longest ago go first."""

MAX_INTROSPECTIONS = 16
"""Questions about tokens that are asked at once; others wait. Anybody can send tokens to ask about."""

MAX_CHECKS = 100_000
"""How often schemas are applied to an answer that a client reads, beside `MAX_CHECKS_A_PART`: 3 s in Python.

Schemas of 3 kB can be applied 2^22 times to one value. Over it only the shape is checked.
"""

MAX_CHECKS_A_PART = 50
"""Likewise, for each part of the answer: ten times what a schema of many branches needs."""

MAX_TOLD_SCHEMAS = 256
"""Projected schemas that a client remembers by tool and request, the least recently needed go first."""

MAX_FIT_STEPS = 20_000
"""Pairs of schemas looked at to find out whether a type fits a tool. Over it every type fits: about 0.1 s."""

CONFORMANCE_BYTES = 8 * 1024 * 1024
"""Largest message of a target that the conformance suite reads, in bytes: as much as the gateway reads."""

CONFORMANCE_STRAYS = 1000
"""Messages of a target that are read while one answer is waited for."""

CONFORMANCE_OPENING_S = 20.0
"""How long a target may take to answer its first request, in seconds: `npx` may have to fetch it."""

CONFORMANCE_ANSWER_S = 10.0
"""How long it may take for any other answer, in seconds."""

CONFORMANCE_RUN_S = 240.0
"""How long all checks of one protocol revision may take, in seconds; then those that are left fail."""

CONFORMANCE_ENDING_S = 2.0
"""How long a target's process may take to end by itself, and then after SIGTERM, in seconds."""

CONFORMANCE_JUDGING_S = 5.0
"""How long it may take to say whether values satisfy a schema of a target, in seconds; it takes a millisecond."""

CONFORMANCE_STOCK_S = 60.0
"""How long the calls of a stock client may take, in seconds; a client that starts and calls a few tools takes two."""

CONFORMANCE_SAMPLES = 6
"""Tools of a target that are called to see what they answer. Each check needs one or two."""

CONFORMANCE_TRIED = 24
"""Calls of tools that are made to find them."""

CONFORMANCE_LEAVES = 200
"""Fields of an answer that are looked at, to choose those which are asked for; texts of it that must not be told."""

CONFORMANCE_SAMPLE_BYTES = 1_000_000
"""Largest answer of a tool that checks look at, in bytes of its JSON: each compares it many times."""

CONFORMANCE_LISTED = 10_000
"""Tools, or resources, of a target that are read."""

CONFORMANCE_TOLD = 500
"""Longest detail of a check that is told, in code points: names of a target's tools can be of any length."""
