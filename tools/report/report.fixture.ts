import { RECORDING_FORMAT, RECORDING_VERSION } from '../../src/recorder/schema.js'
import { type Item, readRecording } from './read/recording.js'

export const LANE = '31337:0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
export const START = 1_750_000_000_000

type Raw = Readonly<Record<string, unknown>>

export const HEADER = {
  at: START,
  event: 'recording',
  format: RECORDING_FORMAT,
  version: RECORDING_VERSION,
  package: '0.1.0',
  startedAt: START,
}
export const CLOSED = { at: START + 9_000, event: 'closed' }

/** An event `afterMs` milliseconds after the start. */
export function reported(afterMs: number, event: string, fields: Raw = {}): Raw {
  return { at: START + afterMs, event, lane: LANE, ...fields }
}

/**
 * The events of a successful transaction: accepted after 10 ms, preconfirmed after 200, sealed after 2,000.
 */
export function well(afterMs: number, nonce: number, id = `tx-${nonce}`): Raw[] {
  const hash = hashOf(nonce)
  const attempts = [{ nonce, hash, maxFeePerGas: '3000000000', maxPriorityFeePerGas: '1000000' }]
  return [
    reported(afterMs, 'queued', { id }),
    reported(afterMs + 5, 'signed', { id, nonce, hash, attempts }),
    reported(afterMs + 10, 'accepted', { id, nonce, hash }),
    reported(afterMs + 200, 'preconfirmed', { id, nonce, hash }),
    reported(afterMs + 2_000, 'sealed', { id, nonce, hash }),
  ]
}

/** Hashes as random as real ones, so that packing cannot exploit a pattern. */
export function hashOf(nonce: number): string {
  let state = nonce + 1
  const words = Array.from({ length: 8 }, () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return (state >>> 0).toString(16).padStart(8, '0')
  })
  return `0x${words.join('')}`
}

export function textOf(lines: readonly (Raw | string)[]): string {
  return lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join('')
}

/** Splits the text into chunks at arbitrary places. */
async function* chunksOf(text: string, size = 1_000): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export async function itemsOf(text: string, size?: number): Promise<Item[]> {
  const items: Item[] = []
  for await (const item of readRecording(chunksOf(text, size))) items.push(item)
  return items
}

/** A recording of `count` transactions, some of which are rebroadcast, ordered by time. */
export function recordingOf(count: number): string {
  const lines = Array.from({ length: count }, (_, nonce) => {
    const own = well(nonce * 3, nonce, `${hashOf(nonce + count).slice(2, 10)}-payment-${nonce}`)
    const { id, hash } = own[1] as { id: string; hash: string }
    const again = nonce % 20 === 7 ? [reported(nonce * 3 + 100, 'rebroadcast', { id, nonce, hash })] : []
    return [...own, ...again]
  }).flat()
  const sorted = lines.sort((a, b) => Number(a.at) - Number(b.at))
  return textOf([HEADER, ...sorted, { at: START + count * 3 + 3_000, event: 'closed' }])
}
