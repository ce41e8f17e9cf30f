import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Delivery, verifyWebhook, type WebhookPayload } from '../../src/outbox/index.js'

/** The answer of a webhook receiver: a status, or no answer at all. */
export type HookAnswer = number | 'silence'

export type HookReceiver = AsyncDisposable & {
  readonly url: string
  /** Accepted deliveries in their order, repeats included. */
  readonly accepted: readonly WebhookPayload['data'][]
  /** The number of requests whose signature does not verify. */
  readonly unsigned: number
}

/**
 * A server that verifies signatures as a customer does. `answer` is called for each verified delivery; the
 * default answer is 204.
 */
export async function startHookReceiver(
  secret: string,
  answer: (delivery: Omit<Delivery, 'attempt'>) => HookAnswer = () => 204,
): Promise<HookReceiver> {
  const accepted: WebhookPayload['data'][] = []
  let unsigned = 0
  const server = createServer(async (request, response) => {
    try {
      const { data } = await verifyWebhook({ body: await bodyOf(request), headers: request.headers, secret })
      const status = answer(data)
      if (status === 'silence') return
      if (status < 300) accepted.push(data)
      response.writeHead(status).end()
    } catch {
      unsigned++
      response.writeHead(401).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    accepted,
    get unsigned() {
      return unsigned
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
