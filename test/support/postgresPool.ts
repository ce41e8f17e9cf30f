import pg from 'pg'

/**
 * A pool of `pg` whose server may be stopped right after `end`: that resolves before idle connections have closed
 * (pg-pool 3, `_remove`), and what one of them hears then would be thrown where nobody listens.
 */
export function postgresPool(config: pg.PoolConfig): pg.Pool {
  return new pg.Pool(config).on('error', () => {})
}
