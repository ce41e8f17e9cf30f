/** Default maximum size of one answer in bytes, uncompressed: 64 MiB. */
export const RESPONSE_BYTES_MAX = 64 * 1024 * 1024

/** An answer exceeded the maximum size. The rest of it is not read. */
export class OversizedAnswer extends Error {
  override name = 'OversizedAnswer'
  constructor(bytesMax: number) {
    super(`the answer is larger than ${bytesMax} bytes, and was truncated (limits.responseBytesMax)`)
  }
}

/**
 * Reads the text of a stream, up to `bytesMax`.
 *
 * @throws OversizedAnswer if the stream is longer; it is cancelled then
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
      // The rest of the stream is not needed. A failure to cancel it does not matter.
      reader.cancel().catch(() => {})
      throw new OversizedAnswer(bytesMax)
    }
    parts.push(decoder.decode(value, { stream: true }))
  }
  parts.push(decoder.decode())
  return parts.join('')
}

/** The text of an answer. A caller's own `fetch` may return other bodies than web streams. */
export async function responseText(response: Response, bytesMax: number): Promise<string> {
  const body = response.body as Partial<ReadableStream<Uint8Array>> | null
  if (typeof body?.getReader === 'function') return boundedText(body as ReadableStream<Uint8Array>, bytesMax)
  const text = await response.text()
  if (text.length > bytesMax) throw new OversizedAnswer(bytesMax)
  return text
}
