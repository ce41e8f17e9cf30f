import { createServer, connect as dial, type Socket } from 'node:net'

/** The fault of a client's next statement. All later statements pass as usual. */
type Fault =
  /** The server executes the statement; its answer is lost with the connection. */
  | 'loseReply'
  /** The connection breaks before the statement reaches the server. */
  | 'loseRequest'
  /** The connection breaks for the client; the proxy holds the statement until `deliver`. */
  | 'holdRequest'
  /** No answer comes, and the connection stays open. */
  | 'hang'

export type CutProxy = AsyncDisposable & {
  readonly port: number
  /** Applies the fault to the next statement that begins like this, on any connection. */
  fail(fault: Fault, words: string): void
  /** Delivers the held statement, and resolves when the server has answered it. */
  deliver(): Promise<void>
  stop(): Promise<void>
}

// The end of every answer: ReadyForQuery outside a transaction. For a single statement it follows the commit.
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])

/** A proxy between a client and PostgreSQL that breaks connections at the worst moment. */
export async function startCutProxy(serverPort: number): Promise<CutProxy> {
  let planned: { readonly fault: Fault; readonly words: string } | undefined
  let held: { readonly bytes: Buffer; readonly upstream: Socket } | undefined
  const sockets = new Set<Socket>()

  const server = createServer((client) => {
    const upstream = dial(serverPort, '127.0.0.1')
    let fault: Fault | undefined
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes) => {
      if (planned && bytes.includes(planned.words)) {
        fault = planned.fault
        planned = undefined
        if (fault === 'holdRequest') held = { bytes, upstream }
        if (fault === 'loseRequest') upstream.destroy()
        if (fault === 'holdRequest' || fault === 'loseRequest') client.destroy()
      }
      if (fault === undefined || fault === 'loseReply') upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (fault === undefined) client.write(bytes)
      else if (fault === 'loseReply' && bytes.subarray(-READY.length).equals(READY)) {
        client.destroy()
        upstream.destroy()
      }
    })
    client.on('close', () => fault !== 'holdRequest' && upstream.destroy())
    upstream.on('close', () => client.destroy())
  })

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

  async function stop(): Promise<void> {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }

  return {
    port: (server.address() as { port: number }).port,
    fail(fault, words) {
      planned = { fault, words }
    },
    async deliver() {
      if (held === undefined) throw new Error('Nothing is held.')
      const { bytes, upstream } = held
      const answered = new Promise<void>((resolve) => upstream.once('data', () => resolve()))
      upstream.write(bytes)
      await answered
      upstream.destroy()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
