import { pause } from '../../support/pause.js'
import { askRelayer, type CallerEntry, digestOf, type RelayerAnswer } from '../../support/relayer.js'
import { MALLORY } from './hostile.js'
import type { Reported } from './verdict.js'

/** Callers that retry each request until it is accepted. */
export const HONEST = ['alice', 'bob', 'carol', 'dave'] as const

const PAGE = 1_000
const AGAIN_MS = 1_000

export const tokenOf = (name: string) => (name === MALLORY.name ? MALLORY.token : `the-token-of-${name}`)

/**
 * The callers file of the service. The hostile caller may send any value, so that no limit in the file stops
 * her.
 */
export function callersOf(webhooks: {
  readonly honest: string
  readonly silent: string
  readonly secret: string
}) {
  const { honest, silent, secret } = webhooks
  const entry = (name: string, url: string) => ({
    name,
    keys: [digestOf(tokenOf(name))],
    webhook: { url, secret },
  })
  return [
    ...HONEST.map((name) => ({ ...entry(name, honest), valueMax: '1', requestsPerSecond: 1_000 })),
    { ...entry(MALLORY.name, silent), valueMax: `${10n ** 31n}`, requestsPerSecond: 40 },
  ] satisfies CallerEntry[]
}

/** The state of all callers' transactions, as one process reports it. */
export async function listAll(url: string): Promise<readonly Reported[]> {
  const reported: Reported[] = []
  for (const name of [...HONEST, MALLORY.name]) {
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const next: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
      const { status, body } = await patient(url, tokenOf(name), `/v1/transactions?limit=${PAGE}${next}`)
      if (status !== 200) throw new Error(`the list of ${name} is a ${status}`)
      reported.push(...(body.items ?? []))
      cursor = body.cursor
    }
  }
  return reported
}

async function patient(url: string, token: string, path: string): Promise<RelayerAnswer> {
  for (;;) {
    const answer = await askRelayer(url, token, path)
    if (![429, 503].includes(answer.status)) return answer
    await pause(AGAIN_MS)
  }
}
