PRAGMA journal_mode = wal;
PRAGMA application_id = 1280725570;
PRAGMA user_version = 0;
BEGIN TRANSACTION;
CREATE TABLE about (key BLOB NOT NULL);
INSERT INTO "about" VALUES(X'6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B6B');
CREATE TABLE field_sets (id INTEGER PRIMARY KEY, paths TEXT NOT NULL UNIQUE);
INSERT INTO "field_sets" VALUES(1,'["name"]');
CREATE TABLE records (
    number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, principal TEXT NOT NULL, server TEXT NOT NULL,
    tool TEXT NOT NULL, policy TEXT, mode TEXT NOT NULL, kept INTEGER NOT NULL, dropped INTEGER NOT NULL,
    outcome TEXT NOT NULL, duration_ms REAL NOT NULL, correlation TEXT NOT NULL, field_set INTEGER NOT NULL);
INSERT INTO "records" VALUES(1,1780000000.0,'6a1fcd5def3269af7931992972e84b3b','crm','get_customer','3','include',1,4,'answered',1.5,'one',1);
CREATE TABLE shipping (spool TEXT NOT NULL, shipped INTEGER NOT NULL);
INSERT INTO "shipping" VALUES('cdd56cd3c9473969',1);
CREATE INDEX records_by_time ON records (time);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('records',1);
COMMIT;
