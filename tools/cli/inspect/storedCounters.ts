import type { Address, Hash, Hex } from 'viem'
import type { Slot } from '../../../src/ledger/slot.js'
import type { StoredCounter } from '../../../src/types/laneReports.js'
import type { Store } from '../../../src/types/store.js'
import type { Connection } from '../shared/connect.js'
import { count, pairs, widthOf } from '../shared/output.js'
import { chainsOf } from '../shared/storedTransactions.js'

/** The nonces of one counter in a contract, as a store has them. */
export type CounterLook = {
  /** `safe`, `entryPoint`, `forwarder` or `storage`. */
  readonly kind: string
  readonly contract: Address
  readonly slot: Hex
  /** The account whose nonces these are, for an EntryPoint or a forwarder. */
  readonly account: Address | undefined
  /** The key of the sequence, for an EntryPoint. */
  readonly key: bigint | undefined
  /** The next nonce if none is given back; undefined if none was handed out yet. */
  readonly nextNonce: bigint | undefined
  /** Nonces that are handed out and not used, lowest first. */
  readonly outstanding: readonly OutstandingNonce[]
  /** The process that hands them out now. */
  readonly holder: string | undefined
  /** Milliseconds until its lease ends, unless it is renewed. */
  readonly leaseMs: number | undefined
}

type OutstandingNonce = {
  readonly nonce: bigint
  /** `filling`: a payload that does nothing is to use it up. */
  readonly state: 'reserved' | 'committed' | 'filling'
  /** The hashes of the committed payloads, the newest last. */
  readonly payloads: readonly Hash[]
}

/** The counters of the chain in a store. */
export async function storedCounters(store: Store, connection: Connection): Promise<readonly CounterLook[]> {
  const chains = await chainsOf(connection)
  return (await Promise.all(chains.map((chain) => store.counters(chain)))).flat().map(lookOf)
}

export function lookOf({ counter, cursor, slots, holder, leaseMs }: StoredCounter): CounterLook {
  const { kind, contract, slot, account, key } = counter
  const nonceOf = (at: number) => ((key ?? 0n) << 64n) | BigInt(at)
  return {
    kind,
    contract,
    slot,
    account,
    key,
    nextNonce: cursor === undefined ? undefined : nonceOf(cursor),
    outstanding: slots.flatMap((one) => outstandingOf(one, nonceOf(one.nonce))),
    holder,
    leaseMs,
  }
}

function outstandingOf(slot: Slot, nonce: bigint): readonly OutstandingNonce[] {
  if (slot.state === 'reserved') return [{ nonce, state: 'reserved', payloads: [] }]
  if (slot.state !== 'live') return []
  const payloads = slot.attempts.map(({ hash }) => hash)
  return [{ nonce, state: slot.end === 'void' ? 'filling' : 'committed', payloads }]
}

const COUNTERS_MAX = 8
const NONCES_MAX = 8

/** Empty if the store has no counter. */
export function countersText(name: string, counters: readonly CounterLook[], width = widthOf()): string {
  if (counters.length === 0) return ''
  const shown = counters.slice(0, COUNTERS_MAX)
  const more = counters.length - shown.length
  return [
    `\nNonces of contracts in ${name}: ${count(counters.length, 'counter')}\n`,
    ...shown.map((one) => `\n${pairs(rowsOf(one, width), width)}`),
    more === 0 ? '' : `\nAnd ${count(more, 'further counter')}: --json lists all.\n`,
  ].join('')
}

const KINDS: Readonly<Record<string, string>> = {
  safe: 'transactions of a Safe',
  entryPoint: 'user operations of an account (ERC-4337)',
  forwarder: 'meta-transactions of a signer (ERC-2771)',
  storage: 'a number in a storage slot',
}

const INDENT = 'outstanding'.length + 2

function rowsOf(look: CounterLook, width: number): readonly (readonly [string, string])[] {
  const { kind, contract, slot, account, key, nextNonce, outstanding, holder, leaseMs = 0 } = look
  const room = width - INDENT
  const left = outstanding.length - NONCES_MAX
  const [first = 'none', ...others] = [
    ...outstanding.slice(0, NONCES_MAX).flatMap((one) => linesOf(one, room)),
    ...(left > 0 ? [`and ${count(left, 'further nonce')}`] : []),
  ]
  return [
    ['contract', contract],
    ['counts', KINDS[kind] ?? kind],
    ...(account === undefined ? [] : [['account', account] as const]),
    ...(key === undefined ? [] : [['key', String(key)] as const]),
    ...(kind === 'storage' ? [['slot', fitted(slot, room)] as const] : []),
    ['next nonce', nextNonce === undefined ? 'none was handed out yet' : String(nextNonce)],
    ['outstanding', first],
    ...others.map((line) => ['', line] as const),
    [
      'assigned by',
      holder === undefined
        ? 'no process now'
        : `process ${holder}, whose lease lasts ${Math.ceil(leaseMs / 1_000)} s unless it is renewed`,
    ],
  ]
}

function linesOf({ nonce, state, payloads }: OutstandingNonce, room: number): readonly string[] {
  const newest = payloads.at(-1)
  if (state === 'filling') return [`${nonce}: to be used up by a payload that does nothing`]
  if (newest === undefined) return [`${nonce}: handed out, no payload is committed yet`]
  const earlier = payloads.length - 1
  const says = earlier === 0 ? '' : `, after ${count(earlier, 'earlier payload')}`
  return [`${nonce}: committed, with the payload${says}`, fitted(newest, room)]
}

/** Both ends of a word that is longer than a line. `--json` has all of it. */
function fitted(word: string, room: number): string {
  if (word.length <= room) return word
  const half = Math.floor((room - 1) / 2)
  return `${word.slice(0, half)}…${word.slice(-half)}`
}
