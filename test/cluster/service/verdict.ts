import type { Address, Hex } from 'viem'
import type { WebhookPayload } from '../../../src/outbox/index.js'
import type { ExecutedTx } from '../../demo/walk.js'
import type { Wanted } from './requests.js'

/** The final state of a transaction as the service reports it. */
export type Reported = { readonly id: string; readonly stage: string; readonly hash?: Hex }

/** The claims to compare with the blocks. */
export type Evidence = {
  /** Requests of honest callers that were answered with 202. */
  readonly wanted: readonly Wanted[]
  /** Ids of the hostile caller that were answered with 202. */
  readonly others: readonly string[]
  readonly reported: readonly Reported[]
  /** The executed transactions of each account that the services have or had, from its first nonce on. */
  readonly executed: ReadonlyMap<Address, readonly ExecutedTx[]>
  /** Deliveries to the callers whose webhook works. */
  readonly deliveries: readonly WebhookPayload['data'][]
  /** The callers that have a working webhook. */
  readonly hooked: ReadonlySet<string>
}

export type Verdict = {
  readonly executed: number
  readonly lost: number
  readonly twice: number
  readonly stranded: number
  readonly contradictions: number
  readonly gaps: number
  /** The number of transactions without a delivery of their end. */
  readonly unheard: number
  /** The number of repeated deliveries. */
  readonly repeated: number
  readonly problems: readonly string[]
}

const EXECUTED = ['sealed', 'safe', 'finalized']
const ENDED = [...EXECUTED, 'failed', 'cancelled', 'superseded']

/** Compares the reports to callers with the blocks. Each wanted transaction has an address of its own. */
export function verdictOf({ wanted, others, reported, executed, deliveries, hooked }: Evidence): Verdict {
  const problems: string[] = []
  const count = (lines: readonly string[]) => {
    problems.push(...lines)
    return lines.length
  }
  const byTarget = new Map<string, ExecutedTx[]>()
  for (const tx of [...executed.values()].flat()) {
    const to = tx.to?.toLowerCase() ?? ''
    byTarget.set(to, [...(byTarget.get(to) ?? []), tx])
  }
  const landedOf = ({ to }: Wanted) => byTarget.get(to.toLowerCase()) ?? []
  const senderOf = (one: Wanted) =>
    [...executed].find(([, own]) => own.some(({ to }) => to?.toLowerCase() === one.to.toLowerCase()))?.[0]
  const reportById = new Map(reported.map((one) => [one.id, one]))
  const ends = new Set(deliveries.filter(({ stage }) => stage !== 'reorged').map(({ tx }) => tx.id))
  return {
    executed: wanted.filter((one) => landedOf(one).length > 0).length,
    lost: count(wanted.filter((one) => landedOf(one).length === 0).map((one) => `lost: ${idOf(one)}`)),
    twice: count(wanted.filter((one) => landedOf(one).length > 1).map((one) => `twice: ${idOf(one)}`)),
    stranded: count(
      reported.filter((one) => !isOver(one)).map(({ id, stage }) => `stranded: ${id} is ${stage}`),
    ),
    contradictions: count([
      ...wanted.flatMap((one) => contradictionOf(idOf(one), reportById.get(idOf(one)), landedOf(one)) ?? []),
      ...others.filter((id) => !reportById.has(id)).map(unknown),
    ]),
    gaps: count([...executed].flatMap(([account, own]) => gapsOf(account, own))),
    unheard: count(
      wanted
        .filter((one) => hooked.has(one.caller) && !ends.has(idOf(one)))
        .map((one) => `unheard: ${idOf(one)}, ${reportById.get(idOf(one))?.stage}, sent by ${senderOf(one)}`),
    ),
    repeated: deliveries.length - new Set(deliveries.map(({ key }) => key)).size,
    problems,
  }
}

/** True if the transaction has ended, or is in a sealed block. */
export const isOver = ({ stage }: Pick<Reported, 'stage'>): boolean => ENDED.includes(stage)

const unknown = (id: string) => `contradiction: ${id} was accepted, and is not known`

const idOf = ({ caller, key }: Wanted): string => `${caller}/${key}`

function contradictionOf(
  id: string,
  reported: Reported | undefined,
  landed: readonly ExecutedTx[],
): string | undefined {
  if (reported === undefined) return unknown(id)
  const [first] = landed
  if (first === undefined || !isOver(reported)) return undefined
  if (EXECUTED.includes(reported.stage) && reported.hash === first.hash) return undefined
  return `contradiction: ${id} is ${reported.stage} as ${reported.hash}, and the chain has ${first.hash}`
}

function gapsOf(account: Address, own: readonly ExecutedTx[]): readonly string[] {
  const nonces = own.map(({ nonce }) => nonce).sort((a, b) => a - b)
  return nonces
    .flatMap((nonce, index) => (nonce === index ? [] : [`gap: ${account} has ${nonce} at place ${index}`]))
    .slice(0, 1)
}
