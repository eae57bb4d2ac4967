"""The page `/ui`: look at servers, answers, policies and the audit in a browser."""
