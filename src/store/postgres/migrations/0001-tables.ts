import type { Migration } from './index.js'

/**
 * Rows of lanes and chains are never deleted, and other tables refer to them by number. There are no foreign
 * keys, because each would be checked for every written row. Names use the C collation, so that they compare
 * byte by byte in every locale.
 */
export const tables: Migration = {
  version: 1,
  sql: (schema) => `
    CREATE TABLE ${schema}.chains (
      chain integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      chain_id bigint NOT NULL,
      genesis_hash text COLLATE "C" NOT NULL,
      UNIQUE (chain_id, genesis_hash)
    );

    CREATE TABLE ${schema}.lanes (
      lane bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      chain integer NOT NULL,
      address text COLLATE "C" NOT NULL,
      -- The lease (P7).
      epoch bigint NOT NULL DEFAULT 0,
      holder text,
      expires_at timestamptz,
      -- The number of the holder's last write: what comes late, after a newer write or load, is refused.
      fence bigint NOT NULL DEFAULT 0,
      cursor bigint,
      -- The last ones given out.
      sequence bigint NOT NULL DEFAULT 0,
      revision bigint NOT NULL DEFAULT 0,
      UNIQUE (chain, address)
    -- Written over with every write: with room beside it, a new version of the row touches no index.
    ) WITH (fillfactor = 50);
    CREATE INDEX lanes_held ON ${schema}.lanes (holder) WHERE holder IS NOT NULL;

    CREATE TABLE ${schema}.slots (
      lane bigint NOT NULL,
      nonce bigint NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (lane, nonce)
    ) WITH (fillfactor = 70);

    CREATE TABLE ${schema}.transactions (
      chain integer NOT NULL,
      id text COLLATE "C" NOT NULL,
      lane bigint NOT NULL,
      sequence bigint NOT NULL,
      revision bigint NOT NULL,
      stage text NOT NULL,
      ended_at timestamptz,
      body text NOT NULL,
      PRIMARY KEY (chain, id)
    );
    CREATE INDEX transactions_arrived ON ${schema}.transactions (lane, sequence, id);
    CREATE INDEX transactions_changed ON ${schema}.transactions (lane, revision);
    CREATE INDEX transactions_open ON ${schema}.transactions (lane) WHERE ended_at IS NULL;
    CREATE INDEX transactions_ended ON ${schema}.transactions (ended_at) WHERE ended_at IS NOT NULL;

    CREATE TABLE ${schema}.hashes (
      chain integer NOT NULL,
      hash text COLLATE "C" NOT NULL,
      id text COLLATE "C" NOT NULL,
      PRIMARY KEY (chain, hash)
    );
    CREATE INDEX hashes_of ON ${schema}.hashes (chain, id);

    CREATE TABLE ${schema}.wishes (
      lane bigint NOT NULL,
      sequence bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      body text NOT NULL,
      PRIMARY KEY (lane, sequence)
    );
  `,
}
