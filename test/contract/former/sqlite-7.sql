PRAGMA user_version = 7;
PRAGMA application_id = 1954049134;
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
  revision INTEGER NOT NULL DEFAULT 0, lease_ms INTEGER NOT NULL DEFAULT 10000, report TEXT, report_epoch INTEGER,
  UNIQUE (chain, address)
) STRICT;
CREATE TABLE hash (
  chain INTEGER NOT NULL,
  hash TEXT NOT NULL,
  tx INTEGER NOT NULL,
  PRIMARY KEY (chain, hash)
) STRICT, WITHOUT ROWID;
CREATE TABLE "command" (
  lane INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (lane, sequence)
) STRICT, WITHOUT ROWID;
CREATE TABLE "slot" (
  key INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  nonce INTEGER NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (lane, nonce)
) STRICT;
CREATE TABLE "tx" (
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
INSERT INTO chain (key, chain_id, genesis) VALUES (1, 5, '0x1111111111111111111111111111111111111111111111111111111111111111');
INSERT INTO lane (key, chain, address, epoch, holder, until_ms, cursor, sequence, revision, lease_ms, report, report_epoch) VALUES (1, 1, '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 1, 'former', 1795955888399, 21, 6, 4, 1, '{"v":1,"report":{"holds":["starved"],"room":-3,"load":7,"owedWei":{"$bigint":"1180591620717411303424"}}}', 1);
INSERT INTO hash (chain, hash, tx) VALUES (1, '0x7031111111111111111111111111111111111111111111111111111111111111', 1);
INSERT INTO command (lane, sequence, id, body) VALUES (1, 5, 'plain', '{"v":1,"wish":{"kind":"speedUp","fees":{"gasPrice":{"$bigint":"3"}}}}');
INSERT INTO command (lane, sequence, id, body) VALUES (1, 6, 'full', '{"v":1,"wish":{"kind":"resolve","fate":"executed"}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (1, 1, 0, '{"v":2,"slot":{"state":"hole","nonce":0,"attempts":[{"hash":"0x6161111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"gasPrice":{"$bigint":"7"}},"gas":{"$bigint":"21000"},"claim":"a","epoch":3,"sends":0,"accepted":false,"madeAt":{"number":7,"hash":"0x6161371111111111111111111111111111111111111111111111111111111111"}}]}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (2, 1, 1, '{"v":2,"slot":{"state":"reserved","nonce":1,"attempts":[],"committing":1,"claim":"a","token":1099511627776}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (3, 1, 2, '{"v":2,"slot":{"state":"live","nonce":2,"attempts":[{"hash":"0x6262111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"maxFeePerGas":{"$bigint":"1180591620717411303425"},"maxPriorityFeePerGas":{"$bigint":"0"}},"gas":{"$bigint":"21000"},"claim":"a","epoch":3,"sends":2,"accepted":true,"madeAt":{"number":7,"hash":"0x6262371111111111111111111111111111111111111111111111111111111111"}}],"committing":0,"claims":["a","b"],"end":"cancel","preconfirmed":{"hash":"0x6262111111111111111111111111111111111111111111111111111111111111","blockNumber":9},"displaced":true,"refusals":2,"replacementRejections":0,"settledBefore":false,"resentSinceSigned":false,"token":5}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (4, 1, 3, '{"v":2,"slot":{"state":"live","nonce":3,"attempts":[{"hash":"0x6161111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"gasPrice":{"$bigint":"7"}},"gas":{"$bigint":"21000"},"claim":"a","epoch":3,"sends":0,"accepted":false,"madeAt":{"number":7,"hash":"0x6161371111111111111111111111111111111111111111111111111111111111"}},{"hash":"0x6363111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"maxFeePerGas":{"$bigint":"1180591620717411303425"},"maxPriorityFeePerGas":{"$bigint":"0"}},"gas":{"$bigint":"21000"},"claim":{"$undefined":0},"epoch":3,"sends":2,"accepted":true,"madeAt":{"number":7,"hash":"0x6363371111111111111111111111111111111111111111111111111111111111"}}],"committing":0,"claims":["a"],"end":"void","preconfirmed":{"$undefined":0},"displaced":false,"refusals":0,"replacementRejections":1,"settledBefore":true,"resentSinceSigned":false,"token":5}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (5, 1, 4, '{"v":2,"slot":{"state":"outside","nonce":4,"attempts":[],"origin":"handedOut"}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (6, 1, 5, '{"v":2,"slot":{"state":"outside","nonce":5,"attempts":[],"origin":"seeded"}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (7, 1, 6, '{"v":2,"slot":{"state":"used","claims":["a"],"settledBefore":false,"settled":false,"committing":0,"nonce":6,"attempts":[{"hash":"0x6161111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"gasPrice":{"$bigint":"7"}},"gas":{"$bigint":"21000"},"claim":"a","epoch":3,"sends":0,"accepted":false,"madeAt":{"number":7,"hash":"0x6161371111111111111111111111111111111111111111111111111111111111"}}],"end":{"$undefined":0},"by":{"kind":"claim","claim":"a","hash":{"$undefined":0}},"at":{"number":12,"hash":"0x6464111111111111111111111111111111111111111111111111111111111111"}}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (8, 1, 7, '{"v":2,"slot":{"state":"used","claims":["a"],"settledBefore":false,"settled":false,"committing":0,"nonce":7,"attempts":[{"hash":"0x6363111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"maxFeePerGas":{"$bigint":"1180591620717411303425"},"maxPriorityFeePerGas":{"$bigint":"0"}},"gas":{"$bigint":"21000"},"claim":{"$undefined":0},"epoch":3,"sends":2,"accepted":true,"madeAt":{"number":7,"hash":"0x6363371111111111111111111111111111111111111111111111111111111111"}}],"end":"cancel","by":{"kind":"noop","hash":"0x6363111111111111111111111111111111111111111111111111111111111111"},"at":{"number":12,"hash":"0x6464111111111111111111111111111111111111111111111111111111111111"}}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (9, 1, 8, '{"v":2,"slot":{"state":"used","claims":["a"],"settledBefore":false,"settled":false,"committing":0,"nonce":8,"attempts":[],"end":{"$undefined":0},"by":{"kind":"other","hash":{"$undefined":0}},"at":{"number":12,"hash":"0x6464111111111111111111111111111111111111111111111111111111111111"}}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (10, 1, 9, '{"v":2,"slot":{"state":"used","claims":["a"],"settledBefore":false,"settled":false,"committing":0,"nonce":9,"attempts":[],"end":{"$undefined":0},"by":{"kind":"unproven"},"at":{"$undefined":0}}}');
INSERT INTO slot (key, lane, nonce, body) VALUES (11, 1, 20, '{"v":2,"slot":{"state":"live","nonce":20,"attempts":[{"hash":"0x7031111111111111111111111111111111111111111111111111111111111111","raw":"0x02abababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababababab","fees":{"maxFeePerGas":{"$bigint":"1180591620717411303425"},"maxPriorityFeePerGas":{"$bigint":"0"}},"gas":{"$bigint":"21000"},"claim":"plain","epoch":3,"sends":2,"accepted":true,"madeAt":{"number":7,"hash":"0x7031371111111111111111111111111111111111111111111111111111111111"}}],"committing":0,"claims":["plain"],"end":{"$undefined":0},"token":5,"preconfirmed":{"$undefined":0},"displaced":false,"refusals":0,"replacementRejections":0,"settledBefore":false,"resentSinceSigned":false}}');
INSERT INTO tx (key, chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival, group_name) VALUES (1, 1, 'plain', 1, 1, 1, 'queued', NULL, '{"v":1,"transaction":{"id":"plain","lane":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111","address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"fingerprint":"0x6611111111111111111111111111111111111111111111111111111111111111","request":{"to":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","value":{"$bigint":"1"}},"sequence":1,"priority":0,"onExpiry":"leave","stage":"queued","createdAtMs":1700000000000}}', 1700000000000, 1, NULL);
INSERT INTO tx (key, chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival, group_name) VALUES (2, 1, 'full', 1, 2, 2, 'accepted', NULL, '{"v":1,"transaction":{"id":"full","lane":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111","address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"fingerprint":"0x6611111111111111111111111111111111111111111111111111111111111111","request":{"to":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","data":"0x00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff00ff","value":{"$bigint":"57896044618658097711785492504343953926634992332820282019728792003956564819968"},"gas":{"$bigint":"1"},"maxFeePerGas":{"$bigint":"0"},"maxPriorityFeePerGas":{"$undefined":0},"accessList":[{"address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","storageKeys":["0x6565111111111111111111111111111111111111111111111111111111111111"]}]},"sequence":2,"priority":-3,"gas":{"$bigint":"18446744073709551616"},"feeCeiling":{"$bigint":"0"},"expiresAtMs":1700000000123,"onExpiry":"cancel","replaces":"plain","needs":{"after":["plain","b"],"afterStage":"sealed","afterStatus":{"$undefined":0},"effect":{"address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","slot":"0x01","value":"0x02"}},"stage":"accepted","nonce":0,"hash":"0x6162111111111111111111111111111111111111111111111111111111111111","status":"reverted","failure":{"code":"REJECTED","message":"It said: \"no\", with ünicode, \\ and a\nnew line.","details":"reverted","data":"0x08c379a0"},"createdAtMs":1700000000000,"attempts":[{"nonce":0,"hash":"0x6161111111111111111111111111111111111111111111111111111111111111","fees":{"gasPrice":{"$bigint":"36893488147419103232"}}},{"nonce":0,"hash":"0x6162111111111111111111111111111111111111111111111111111111111111","fees":{"maxFeePerGas":{"$bigint":"9"},"maxPriorityFeePerGas":{"$bigint":"0"}},"signedAtMs":7}],"group":"a, \"b\" \\ ä|😀","costs":{"gasUsed":{"$bigint":"21000"},"effectiveGasPrice":{"$bigint":"0"},"l1Fee":{"$bigint":"1180591620717411303424"},"totalFee":{"$bigint":"1180591620717411303424"}},"supersededBy":"plain","updatedAtMs":1700000000001,"finishedAtMs":1700000000002}}', 1700000000000, 2, 'a, \"b\" \\ ä|😀');
INSERT INTO tx (key, chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival, group_name) VALUES (3, 1, 'told', 1, 3, 3, 'queued', NULL, '{"v":1,"transaction":{"id":"told","lane":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111","address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"fingerprint":"0x6611111111111111111111111111111111111111111111111111111111111111","request":{"to":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","value":{"$bigint":"1"}},"sequence":3,"priority":0,"onExpiry":"leave","stage":"queued","createdAtMs":1700000000000}}', 1700000000000, 3, NULL);
INSERT INTO tx (key, chain, id, lane, sequence, revision, stage, ended_ms, body, created_ms, arrival, group_name) VALUES (4, 1, 'dead', 1, 4, 4, 'queued', NULL, '{"v":1,"transaction":{"id":"dead","lane":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111","address":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"fingerprint":"0x6611111111111111111111111111111111111111111111111111111111111111","request":{"to":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","value":{"$bigint":"1"}},"sequence":4,"priority":0,"onExpiry":"leave","stage":"queued","createdAtMs":1700000000000}}', 1700000000000, 4, NULL);
INSERT INTO outbox (key, name, epoch, holder, until_ms, lease_ms, written) VALUES (1, 'orders', 1, 'former', 1795955888395, 1, 1);
INSERT INTO outbox_lane (outbox, lane, revision) VALUES (1, 1, 1);
INSERT INTO delivery (tx, outbox, state, body) VALUES (2, 1, 'open', '{"v":1,"delivery":{"chain":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111"},"id":"full","state":"open","told":{"stage":"sealed","life":1,"block":"0x626c6f636b111111111111111111111111111111111111111111111111111111"},"next":{"stage":"reorged","life":1},"count":3,"tries":2,"failure":"HTTP 500: \"no\"\nnew line","sinceMs":1700000000000}}');
INSERT INTO delivery (tx, outbox, state, body) VALUES (4, 1, 'dead', '{"v":1,"delivery":{"chain":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111"},"id":"dead","state":"dead","count":0,"tries":5,"failure":"gone"}}');
INSERT INTO delivery (tx, outbox, state, body) VALUES (3, 1, 'told', '{"v":1,"delivery":{"chain":{"chainId":5,"genesisHash":"0x1111111111111111111111111111111111111111111111111111111111111111"},"id":"told","state":"told","told":{"stage":"failed","life":0},"count":1,"tries":0}}');
CREATE INDEX lane_held ON lane (holder) WHERE holder IS NOT NULL;
CREATE INDEX hash_of ON hash (tx);
CREATE INDEX tx_arrival ON tx (lane, sequence, id);
CREATE INDEX tx_change ON tx (lane, revision);
CREATE INDEX tx_open ON tx (lane, sequence) WHERE ended_ms IS NULL;
CREATE INDEX tx_ended ON tx (ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX tx_list ON tx (lane, created_ms, arrival, id);
CREATE INDEX tx_group ON tx (lane, group_name, created_ms, arrival, id) WHERE group_name IS NOT NULL;
CREATE INDEX delivery_waits ON delivery (outbox, state) WHERE state <> 'told';
CREATE VIEW wish AS SELECT lane, sequence, id, body FROM command;
CREATE TRIGGER delivery_forgotten AFTER DELETE ON tx BEGIN
  DELETE FROM delivery WHERE tx = OLD.key;
END;
CREATE TRIGGER wish_added INSTEAD OF INSERT ON wish BEGIN
  INSERT INTO command (lane, sequence, id, body) VALUES (NEW.lane, NEW.sequence, NEW.id, NEW.body);
END;
CREATE TRIGGER wish_dropped INSTEAD OF DELETE ON wish BEGIN
  DELETE FROM command WHERE lane = OLD.lane AND sequence = OLD.sequence;
END;
