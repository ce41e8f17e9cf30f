/** Bytes of one answer, unpacked, where no other bound is given: 64 MiB. */
export const RESPONSE_BYTES_MAX = 64 * 1024 * 1024

/** An answer is larger than its bound: the rest of it is not read. */
export class OversizedAnswer extends Error {
  override name = 'OversizedAnswer'
  constructor(bytesMax: number) {
    super(`the answer is larger than ${bytesMax} bytes, and was cut (limits.responseBytesMax)`)
  }
}

/**
 * The text of a stream, read as far as `bytesMax`.
 * @throws OversizedAnswer beyond it; the stream is cancelled then
 */
export async function boundedText(stream: ReadableStream<Uint8Array>, bytesMax: number): Promise<string> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  const parts: string[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    bytes += value.length
    if (bytes > bytesMax) {
      // What is under way is of no use to anybody; that it cannot be cancelled neither.
      reader.cancel().catch(() => {})
      throw new OversizedAnswer(bytesMax)
    }
    parts.push(decoder.decode(value, { stream: true }))
  }
  parts.push(decoder.decode())
  return parts.join('')
}

/** The text of an answer. A `fetch` of the user's own may bring other bodies than web streams. */
export async function responseText(response: Response, bytesMax: number): Promise<string> {
  const body = response.body as Partial<ReadableStream<Uint8Array>> | null
  if (typeof body?.getReader === 'function') return boundedText(body as ReadableStream<Uint8Array>, bytesMax)
  const text = await response.text()
  if (text.length > bytesMax) throw new OversizedAnswer(bytesMax)
  return text
}
