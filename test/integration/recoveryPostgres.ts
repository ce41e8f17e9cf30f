import pg from 'pg'

/** Some statements on a connection of its own: what an operator does by hand. */
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

/** Every lease has run out: that of a life that was killed lasts ten seconds. */
export async function expirePostgres(connectionString: string): Promise<void> {
  await byHand(connectionString, (client) =>
    client.query('UPDATE txlane.lanes SET expires_at = clock_timestamp()'),
  )
}
