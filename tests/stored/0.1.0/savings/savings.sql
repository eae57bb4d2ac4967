PRAGMA journal_mode = wal;
PRAGMA application_id = 1280725587;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE savings (
    day TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, view TEXT NOT NULL,
    calls INTEGER NOT NULL, saved_nothing INTEGER NOT NULL, whole_bytes INTEGER NOT NULL, sent_bytes INTEGER NOT NULL, whole_characters INTEGER NOT NULL, sent_characters INTEGER NOT NULL,
    PRIMARY KEY (day, server, tool, view)) WITHOUT ROWID
;
INSERT INTO "savings" VALUES('2026-05-28','crm','one','brief',2,1,900,100,800,80);
COMMIT;
