import {
  type Account,
  type Chain,
  type Client,
  type Hex,
  keccak256,
  type LocalAccount,
  type Transport,
} from 'viem'
import { isTxlaneError } from '../../../src/errors/base.js'
import type { NonceAllocator, Sender, Tx, TxRequest } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { pause } from '../../support/pause.js'
import { dataOf, replacementOf, targetOf } from '../../sweep/asks.js'
import type { Ask, DatedAsk } from '../asks.js'
import { report } from './report.js'

/**
 * Repeats its requests as a user does after a restart: with the same ids, because it cannot know how far
 * they came.
 */
export type User = {
  /** Resolves once there is an answer, of any kind. */
  ask(ask: DatedAsk): Promise<void>
  /** Called when the sender begins to close: from then on answers may be missing. */
  closing(): void
}

// Fees of transactions that the user signs: far above the devnet's base fee. The gas exceeds a plain transfer
// with some data.
const OWN_FEES = { maxFeePerGas: 20_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n, gas: 60_000n }
const REVERTING_GAS = 100_000n

export type UserOptions = {
  readonly sender: Sender
  readonly allocator: NonceAllocator
  readonly client: Client<Transport, Chain, Account & LocalAccount>
  readonly url: string
  readonly reservationTtlMs: number
}

export function createUser(options: UserOptions): User {
  const { sender } = options
  let closing = false

  async function send(ask: DatedAsk): Promise<Tx | undefined> {
    const expires = ask.kind === 'expires' ? { atMs: ask.firstAskedAtMs + ask.expiresAfterMs } : undefined
    try {
      const { id, until } = ask
      const tx = await sender.send(requestOf(ask), { id, until, expires, onExpiry: 'cancel' })
      report({ report: 'kept', id })
      return tx
    } catch (error) {
      const fate = failed(ask.id, error)
      return fate === 'inFlight' ? known(ask.id) : undefined
    }
  }

  /** The transaction of an id, if the library knows it. */
  async function known(id: string): Promise<Tx | undefined> {
    if (closing) return undefined
    return await sender.get(id).catch((error) => void failed(id, error))
  }

  async function follow(id: string, tx: Tx | undefined): Promise<void> {
    for (let tries = 0; tx !== undefined && tries < 2; tries++) {
      try {
        const { hash, nonce, status } = await tx.wait('sealed')
        return report({ report: 'sealed', id, hash, nonce, status: String(status) })
      } catch (error) {
        if (failed(id, error) !== 'inFlight') return
        tx = await known(id)
      }
    }
  }

  async function act(ask: Ask, tx: Tx | undefined): Promise<void> {
    if (tx === undefined || closing) return
    await pause(ask.actAfterMs)
    if (closing) return
    if (ask.kind === 'cancel') return cancel(ask.id, tx)
    if (ask.kind === 'replace') return replace(ask, tx)
    // A bump that comes too late has no effect.
    if (ask.kind === 'speedUp') await tx.speedUp().catch(() => undefined)
  }

  async function cancel(id: string, tx: Tx): Promise<void> {
    try {
      const { result } = await tx.cancel()
      report({ report: 'cancelled', id, result })
    } catch (error) {
      failed(id, error)
    }
  }

  /** The answer may concern either transaction: the old one if it could no longer be replaced. */
  async function replace(ask: Ask, tx: Tx): Promise<void> {
    const id = replacementOf(ask.id)
    try {
      const instead = await tx.replace(requestOf({ id, kind: ask.kind }), { id, until: ask.until })
      report({ report: 'kept', id })
      await follow(id, instead)
    } catch (error) {
      const about = isTxlaneError(error) ? error.tx?.id : undefined
      if (about !== undefined) failed(about, error)
      // An earlier life may have progressed further.
      if (about !== id) await follow(id, await known(id))
    }
  }

  return {
    async ask(ask) {
      await pause(ask.delayMs)
      if (closing) return
      if (ask.kind === 'allocated' || ask.kind === 'returned') {
        // There is no promise about a reservation that could not be committed.
        return allocated(ask, options).catch(() => undefined)
      }
      const tx = await send(ask)
      await Promise.all([follow(ask.id, tx), act(ask, tx)])
    },
    closing() {
      closing = true
    },
  }
}

function requestOf(ask: Pick<Ask, 'id' | 'kind'>): TxRequest {
  const gas = ask.kind === 'reverted' ? { gas: REVERTING_GAS } : {}
  return { to: targetOf(ask), data: dataOf(ask.id), ...gas } as TxRequest
}

/** Signs and sends a transaction past the lane, with a nonce of the allocator; or returns the nonce. */
async function allocated(
  ask: Ask,
  { allocator, client, url, reservationTtlMs }: Omit<UserOptions, 'sender'>,
): Promise<void> {
  const askedAtMs = systemClock.now()
  const reservation = await allocator.reserve()
  if (ask.kind === 'returned') return reservation.release()
  const { account, chain } = client
  const serializedTransaction = await account.signTransaction({
    type: 'eip1559',
    chainId: chain.id,
    nonce: reservation.nonce,
    to: targetOf(ask),
    data: dataOf(ask.id),
    ...OWN_FEES,
  })
  await reservation.commit({ serializedTransaction })
  // The lane fills a nonce that stays silent for this long with a no-op, and either of the two may land.
  if (systemClock.now() - askedAtMs < reservationTtlMs) report({ report: 'kept', id: ask.id })
  const error = await post(url, serializedTransaction)
  await reservation.settle(error)
}

/** Undefined if the node accepted it. */
async function post(url: string, raw: Hex): Promise<Error | undefined> {
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_sendRawTransaction', params: [raw] }
  try {
    const response = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    const answer = (await response.json()) as { result?: Hex; error?: { message: string } }
    // The lane also sends inherited bytes, and may have been faster.
    if (answer.result === keccak256(raw)) return undefined
    return Object.assign(new Error(answer.error?.message ?? 'no answer'), answer.error)
  } catch (error) {
    return error as Error
  }
}

/** Reports an error and the fate that it names. */
function failed(id: string, error: unknown): string {
  if (!isTxlaneError(error)) {
    report({ report: 'trouble', message: `${id}: ${String(error)}` })
    return 'unknown'
  }
  const { code, fate, shortMessage: message } = error
  report({ report: 'failed', id, code, fate, message })
  return fate
}
