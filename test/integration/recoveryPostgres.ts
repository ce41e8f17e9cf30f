import pg from 'pg'

/** Runs statements on a separate connection, as an operator does. */
export async function byHand<T>(
  connectionString: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Expires every lease, because that of a killed life lasts ten seconds. */
export async function expirePostgres(connectionString: string): Promise<void> {
  await byHand(connectionString, (client) =>
    client.query('UPDATE txlane.lanes SET expires_at = clock_timestamp()'),
  )
}
