import type { ClientRequest, IncomingMessage } from 'node:http'

/** The answer to a request of Node's own HTTP, as a `Response` of `fetch`. */
export function responseTo(request: ClientRequest): Promise<Response> {
  return new Promise((resolve, reject) => {
    request.once('error', reject)
    request.once('response', (message) => {
      read(message).then((text) => resolve(new Response(text, { status: message.statusCode ?? 500 })), reject)
    })
  })
}

async function read(message: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
