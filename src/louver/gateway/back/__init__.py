"""One upstream server: its sessions, its lists, its notifications, its availability."""
