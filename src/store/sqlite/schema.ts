/** The application id of a txlane file, which `file` and other tools show: "txln". */
export const APPLICATION_ID = 0x74786c6e

// The machine's wall clock in milliseconds, the same one for every process that has the file open. It may
// step.
export const NOW_MS = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

// `id` is the caller's own text, escaped as in JSON, because SQLite ends a text at its first NUL.
const FIRST = `
CREATE TABLE chain (
  key INTEGER PRIMARY KEY,
  chain_id INTEGER NOT NULL,
  genesis TEXT NOT NULL,
  UNIQUE (chain_id, genesis)
) STRICT;

CREATE TABLE lane (
  key INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  address TEXT NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  until_ms INTEGER NOT NULL DEFAULT 0,
  cursor INTEGER,
  sequence INTEGER NOT NULL DEFAULT 0,
  revision INTEGER NOT NULL DEFAULT 0,
  UNIQUE (chain, address)
) STRICT;
CREATE INDEX lane_held ON lane (holder) WHERE holder IS NOT NULL;

CREATE TABLE slot (
  lane INTEGER NOT NULL,
  nonce INTEGER NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (lane, nonce)
) STRICT, WITHOUT ROWID;

CREATE TABLE tx (
  key INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  id TEXT NOT NULL,
  lane INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  stage TEXT NOT NULL,
  ended_ms INTEGER,
  body TEXT NOT NULL,
  UNIQUE (chain, id)
) STRICT;
CREATE INDEX tx_arrival ON tx (lane, sequence, id);
CREATE INDEX tx_change ON tx (lane, revision);
CREATE INDEX tx_open ON tx (lane, sequence) WHERE ended_ms IS NULL;
CREATE INDEX tx_ended ON tx (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE hash (
  chain INTEGER NOT NULL,
  hash TEXT NOT NULL,
  tx INTEGER NOT NULL,
  PRIMARY KEY (chain, hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX hash_of ON hash (tx);

CREATE TABLE wish (
  lane INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (lane, sequence)
) STRICT, WITHOUT ROWID;
`

// The length of a lease, to detect one that ends too far in the future. A process of the former version takes
// leases of 10 s.
const LEASE_LENGTH = 'ALTER TABLE lane ADD COLUMN lease_ms INTEGER NOT NULL DEFAULT 10000;'

// A table WITHOUT ROWID keeps at most 1,002 bytes of a row in its page (maxLocal of index pages, 1.5 of
// https://www.sqlite.org/fileformat2.html), so most slots needed an additional page of 4,096 bytes.
const SLOTS_BY_ROWID = `
CREATE TABLE slot_by_rowid (
  key INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  nonce INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (lane, nonce)
) STRICT;
INSERT INTO slot_by_rowid (lane, nonce, body) SELECT lane, nonce, body FROM slot ORDER BY lane, nonce;
DROP TABLE slot;
ALTER TABLE slot_by_rowid RENAME TO slot;
`

// The columns by which lists are sorted and filtered. A process of the former version does not write them,
// and gives no creation time. The key is kept, because hashes refer to transactions by it.
const LISTED = `
CREATE TABLE tx_listed (
  key INTEGER PRIMARY KEY,
  chain INTEGER NOT NULL,
  id TEXT NOT NULL,
  lane INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  stage TEXT NOT NULL,
  ended_ms INTEGER,
  body TEXT NOT NULL,
  created_ms REAL NOT NULL DEFAULT (unixepoch('subsec') * 1000),
  arrival INTEGER NOT NULL DEFAULT 0,
  group_name TEXT,
  UNIQUE (chain, id)
) STRICT;
INSERT INTO tx_listed (key, chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival)
  SELECT key, chain, id, lane, sequence, revision, stage, ended_ms, body,
    CAST(CASE WHEN json_valid(body) THEN coalesce(json_extract(body, '$.transaction.createdAtMs'), 0) ELSE 0 END AS REAL),
    sequence
  FROM tx ORDER BY key;
DROP TABLE tx;
ALTER TABLE tx_listed RENAME TO tx;
CREATE INDEX tx_arrival ON tx (lane, sequence, id);
CREATE INDEX tx_change ON tx (lane, revision);
CREATE INDEX tx_open ON tx (lane, sequence) WHERE ended_ms IS NULL;
CREATE INDEX tx_ended ON tx (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX tx_list ON tx (lane, created_ms, arrival, id);
CREATE INDEX tx_group ON tx (lane, group_name, created_ms, arrival, id) WHERE group_name IS NOT NULL;
`

// A report of the lease owner counts only for its epoch. A process of the former version makes none.
const REPORTS = `
ALTER TABLE lane ADD COLUMN report TEXT;
ALTER TABLE lane ADD COLUMN report_epoch INTEGER;
`

// A delivery is deleted with its transaction, also if a process of the former version deletes that.
const OUTBOXES = `
CREATE TABLE outbox (
  key INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL DEFAULT 0,
  holder TEXT,
  until_ms INTEGER NOT NULL DEFAULT 0,
  lease_ms INTEGER NOT NULL DEFAULT 0,
  written INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE outbox_lane (
  outbox INTEGER NOT NULL,
  lane INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  PRIMARY KEY (outbox, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE delivery (
  tx INTEGER NOT NULL,
  outbox INTEGER NOT NULL,
  state TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (tx, outbox)
) STRICT;
CREATE INDEX delivery_waits ON delivery (outbox, state) WHERE state <> 'told';
CREATE TRIGGER delivery_forgotten AFTER DELETE ON tx BEGIN
  DELETE FROM delivery WHERE tx = OLD.key;
END;
`

// The commands of other processes were called wishes. A process of the former version still uses that name.
const COMMANDS = `
ALTER TABLE wish RENAME TO command;
CREATE VIEW wish AS SELECT lane, sequence, id, body FROM command;
CREATE TRIGGER wish_added INSTEAD OF INSERT ON wish BEGIN
  INSERT INTO command (lane, sequence, id, body) VALUES (NEW.lane, NEW.sequence, NEW.id, NEW.body);
END;
CREATE TRIGGER wish_dropped INSTEAD OF DELETE ON wish BEGIN
  DELETE FROM command WHERE lane = OLD.lane AND sequence = OLD.sequence;
END;
`

// The state `delivered` was called `told`. Each of its rows is written once, without the former index, which
// would take all of them in. A process of the former version still writes `told`, which no statement looks for.
const DELIVERED = `
DROP INDEX delivery_waits;
UPDATE delivery SET state = 'delivered' WHERE state = 'told';
CREATE INDEX delivery_waits ON delivery (outbox, state) WHERE state IN ('open', 'dead');
`

/**
 * The migrations from each version to the next. The version of a file is the number of migrations applied to
 * it.
 */
export const MIGRATIONS: readonly string[] = [
  FIRST,
  LEASE_LENGTH,
  SLOTS_BY_ROWID,
  LISTED,
  REPORTS,
  OUTBOXES,
  COMMANDS,
  DELIVERED,
]
