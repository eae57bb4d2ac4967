"""What cannot work, and why: a cell of a stack -> the reason. A cell that works after all is found by the tests."""

FORGETS = "it starts a process for each call over stdio, so nothing is remembered. Over HTTP it works"
DROPS = "it sends only arguments that a tool lists, and a summary lists none"
DEFERS = "it loads tools on demand itself: all are listed to it, and there is no `search_tools`"
LISTS_ONCE = "it hears of no new tool: the preview's other advice is to name fields"
FILLS = "it treats every argument as required, and an action of the one tool refuses the arguments of others"

KNOWN = {
    ("claude-code", "deferred"): DEFERS,
    ("qwen-code", "deferred"): DEFERS,
    ("codex", "its pages"): LISTS_ONCE,
    ("langchain", "kept result"): FORGETS,
    ("langchain", "enforce"): FORGETS,
    ("llama-index", "kept result"): FORGETS,
    ("llama-index", "enforce"): FORGETS,
    ("autogen", "kept result"): FORGETS,
    ("autogen", "enforce"): FORGETS,
    ("autogen", "on-error"): DROPS,
    ("mcp-use", "enforce"): DROPS,
    ("mcp-use", "on-error"): DROPS,
    ("mcpadapt", "enforce"): DROPS,
    ("mcpadapt", "on-error"): DROPS,
    ("mcpadapt", "gateway"): FILLS,
}
