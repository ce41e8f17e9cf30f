import pg from 'pg'

/**
 * A pool of `pg` whose server may be stopped right after `end`. `end` resolves before idle connections have
 * closed (pg-pool 3, `_remove`), and an error on one of them would be emitted without a listener, and
 * thrown.
 */
export function postgresPool(config: pg.PoolConfig): pg.Pool {
  return new pg.Pool(config).on('error', () => {})
}
