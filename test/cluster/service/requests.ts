import { type Address, type Hex, keccak256, slice, toHex } from 'viem'
import { systemClock } from '../../../src/platform/clock.js'
import { within } from '../../demo/within.js'
import { pause } from '../../support/pause.js'
import { askRelayer } from '../../support/relayer.js'

/** A transaction that an honest caller wants once. Its address receives no other transaction. */
export type Wanted = {
  readonly caller: string
  readonly token: string
  readonly key: string
  readonly to: Address
  /** If undefined, the service estimates it. */
  readonly gas: string | undefined
}

/** The time of the first request, and the time at which a process answered 202. */
export type Accepted = { readonly wanted: Wanted; readonly askedAtMs: number; readonly acceptedAtMs: number }

const AGAIN_MS = 50
/** Longer than a lease, and than a restart of the database on a busy machine. */
const PATIENCE_MS = 180_000
const ANSWER_MS = 15_000
const NO_ANSWER = 'no answer'

export function wantedOf(caller: { name: string; token: string }, seed: number, index: number): Wanted {
  const key = `${seed}-${index}`
  const to = slice(keccak256(toHex(`${caller.name}/${key}`)), 0, 20) as Hex
  return { caller: caller.name, token: caller.token, key, to, gas: index % 2 === 0 ? '21000' : undefined }
}

/**
 * Requests as a careful caller does: with the same key until there is a 202, and at another process if one
 * does not answer or is unavailable.
 * @throws Error with the last answer, if that is no reason to retry or the time is over
 */
export async function request(
  wanted: Wanted,
  urls: readonly string[],
  first: number,
  onTry: (answer: string) => void,
): Promise<Accepted> {
  const { token, key, to, gas } = wanted
  const askedAtMs = systemClock.wallNow()
  const body = { to, value: '1', ...(gas === undefined ? {} : { gas }) }
  for (let tries = 0; ; tries++) {
    const url = urls[(first + tries) % urls.length] as string
    const answer = await post(url, token, key, body)
    onTry(answer)
    if (answer === '202') return { wanted, askedAtMs, acceptedAtMs: systemClock.wallNow() }
    const isOver = systemClock.wallNow() - askedAtMs > PATIENCE_MS
    if (isOver || ![NO_ANSWER, '503', '429'].includes(answer)) throw new Error(`${key}: ${answer}`)
    await pause(AGAIN_MS)
  }
}

/** The status, or `NO_ANSWER` if there was none within a caller's timeout. */
async function post(url: string, token: string, key: string, body: object): Promise<string> {
  const asked = askRelayer(url, token, '/v1/transactions', { key, body }).then(
    ({ status }) => `${status}`,
    () => NO_ANSWER,
  )
  const answer = await within(systemClock, ANSWER_MS, asked)
  return answer === 'late' ? NO_ANSWER : answer
}
