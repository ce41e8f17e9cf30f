import type { Random } from '../../src/platform/clock.js'
import { GAS, type Item } from './items.js'
import type { PortPlan } from './portPlan.js'
import { between, chance, pick } from './random.js'

/** Probabilities from 0 to 1, for each `eth_subscribe` (`refused`) or each announced head. */
export type PushFaults = {
  /** `eth_subscribe` is answered with an error. */
  refused: number
  /** The head is announced two or three times. */
  repeated: number
  /** The head is not announced. */
  skipped: number
  /** A head that no branch has is announced as well. */
  invented: number
  /** The announcement comes up to two seconds later, and all that follow it no earlier. */
  late: number
}

/** An endpoint that announces its heads (`eth_subscribe`, `newHeads`). */
export type PushPlan = {
  readonly faults: PushFaults
  /** A subscription announces nothing after so many heads; undefined for never. */
  readonly silentAfter: number | undefined
  /** The node that announces is ahead of the one that answers, if that one lags. */
  readonly isAhead: boolean
  /** Its socket is closed at these times, with all subscriptions and open requests, and then down for a while. */
  readonly drops: readonly { readonly atMs: number; readonly forMs: number }[]
}

/** Probabilities from 0 to 1 for each sync send of real bytes. */
export type SyncFaults = {
  /** The method is refused although the probe showed it; half of the time after the bytes were added. */
  unusable: number
  /** A proxy closes the request while it waits for the receipt. */
  cut: number
  /** The answer comes up to eight seconds after the receipt. */
  late: number
}

/** An endpoint that answers `eth_sendRawTransactionSync` (EIP-7966). */
export type SyncPlan = {
  /** Its words and its limits for the timeout: those of its node, of the EIP, or of anvil, which takes none. */
  readonly form: 'node' | 'eip7966' | 'anvil'
  readonly faults: SyncFaults
}

const WORST_PUSH: PushFaults = { refused: 0.5, repeated: 0.5, skipped: 0.5, invented: 0.3, late: 0.5 }
export const NO_PUSH_FAULTS: Readonly<PushFaults> = {
  refused: 0,
  repeated: 0,
  skipped: 0,
  invented: 0,
  late: 0,
}

const WORST_SYNC: SyncFaults = { unusable: 0.5, cut: 1, late: 1 }
export const NO_SYNC_FAULTS: Readonly<SyncFaults> = { unusable: 0, cut: 0, late: 0 }

const PUSH_SHARE = 0.4
const SYNC_SHARE = 0.5

export function drawPush(
  random: Random,
  { calm, durationMs, sentAtMs }: { calm: boolean; durationMs: number; sentAtMs: readonly number[] },
): PushPlan | undefined {
  if (!chance(random, PUSH_SHARE)) return undefined
  if (calm) return { faults: { ...NO_PUSH_FAULTS }, silentAfter: undefined, isAhead: false, drops: [] }
  return {
    faults: drawSome(random, WORST_PUSH),
    silentAfter: chance(random, 0.25) ? between(random, 0, 20) : undefined,
    isAhead: chance(random, 0.3),
    drops: chance(random, 0.4) ? drawDrops(random, durationMs, sentAtMs) : [],
  }
}

/** At any time, or in the middle of a burst. */
function drawDrops(random: Random, durationMs: number, sentAtMs: readonly number[]): PushPlan['drops'] {
  return Array.from({ length: between(random, 1, 3) }, () => ({
    atMs:
      sentAtMs.length > 0 && chance(random, 0.6)
        ? pick(random, sentAtMs) + between(random, 0, 300)
        : between(random, 0, durationMs),
    forMs: pick(random, [0, 0, between(random, 1, 500), between(random, 500, 5_000)]),
  }))
}

export function drawSyncSends(random: Random, calm: boolean): SyncPlan | undefined {
  if (!chance(random, SYNC_SHARE)) return undefined
  const form = pick(random, ['node', 'node', 'eip7966', 'anvil'] as const)
  return { form, faults: calm ? { ...NO_SYNC_FAULTS } : drawSome(random, WORST_SYNC) }
}

/** Few faults at a time, so that their effects can be distinguished; sometimes all of them. */
function drawSome<T extends Record<string, number>>(random: Random, worst: T): T {
  const share = pick(random, [0, 0.3, 1])
  return Object.fromEntries(
    Object.entries(worst).map(([name, rate]) => [name, chance(random, share) ? rate * random() : 0]),
  ) as T
}

/** How long callers of `sendTransactionSync` wait for a receipt: shorter than a block, some blocks, or longer. */
const SYNC_CALLER_MS = [100, 300, 1_000, 5_000, 30_000]

/** Some callers want the receipt with the answer to their send. Drawn separately from everything else. */
export function drawSyncCallers(random: Random, items: readonly Item[]): Item[] {
  const share = pick(random, [0, 0.3, 1])
  return items.map((item) => {
    const may = item.outside === undefined && item.sequence === undefined
    if (!may || !chance(random, share)) return item
    return { ...item, receiptWithinMs: pick(random, SYNC_CALLER_MS) }
  })
}

/**
 * Some callers send one after another, each once the last one should have landed: only a transaction on an idle
 * lane is sent with the request for its receipt.
 */
export function drawSyncSeries(random: Random, items: readonly Item[], blockTimeMs: number): Item[] {
  if (!chance(random, 0.6)) return []
  let marker = Math.max(0, ...items.flatMap((item) => [item, ...item.changes]).map((one) => one.marker))
  let atMs = Math.max(0, ...items.map((item) => item.atMs))
  return Array.from({ length: between(random, 3, 6) }, () => {
    atMs += between(random, 0, 400) + (chance(random, 0.75) ? between(random, 1, 2) * blockTimeMs : 0)
    return {
      marker: ++marker,
      atMs,
      program: { kind: 'call', marker },
      gas: GAS,
      until: pick(random, ['queued', 'accepted']),
      expiresInMs: undefined,
      onExpiry: 'leave',
      abortAfterMs: undefined,
      stage: 'sealed',
      changes: [],
      outside: undefined,
      after: undefined,
      declaresEffect: false,
      oversized: false,
      receiptWithinMs: pick(random, SYNC_CALLER_MS),
    }
  })
}

/** The names of the faults of a port's push and sync sends, as `Keep` takes them. */
export function socketFaultsOf({ push, syncSends }: PortPlan): string[] {
  return [...(push === undefined ? [] : ['push']), ...(syncSends === undefined ? [] : ['syncSends'])]
}
