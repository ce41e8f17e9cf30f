import {
  EventPayload,
  type Listener,
  type Provider,
  type TransactionReceipt,
  type TransactionResponse,
} from 'ethers'
import { isHash } from 'viem'
import { isTxlaneError } from '../errors/base.js'
import type { Landed, Sender, Tx } from '../types/index.js'
import { endError, movedError } from './errors.js'

/** viem's receipt of a sealed block. */
type SealedReceipt = Extract<Landed, { stage: 'sealed' | 'safe' | 'finalized' }>['receipt']

/**
 * The end of a transaction that was requested by one of its hashes. The receipt may be that of another
 * attempt.
 */
type Landing = { readonly receipt: TransactionReceipt } | { readonly error: unknown }

/** Looks up the lane's transactions by hash. */
export type Landings = {
  /**
   * Undefined if the hash does not belong to the lane.
   *
   * @throws TxlaneError if the lane cannot be asked about its own transaction, for example because it is
   *   closed
   */
  find(hash: string): Promise<Tx | undefined>
  /**
   * Remembers the response given to the caller, because the expected address of a contract follows from it.
   */
  onResponse(tx: Tx, response: TransactionResponse): void
  /** The current receipt; undefined if no sealed block contains the transaction. */
  now(tx: Tx): Promise<SealedReceipt | undefined>
  /** Waits for the end of the transaction. Rejects only by the signal. */
  await(tx: Tx, signal: AbortSignal, receiptOf: ReceiptOf): Promise<Landing>
}

type ReceiptOf = (receipt: SealedReceipt) => TransactionReceipt

// Long enough to read a receipt. A transaction that a reorg removed meanwhile has none.
const NOW_MS = 5_000
// Number of own hashes that are remembered. If the lane cannot be asked, older hashes are left to the
// provider.
const OWN_MAX = 10_000

export function createLandings(sender: Sender): Landings {
  // The nonces of contracts whose address callers already know. The address follows from the nonce.
  const deployed = new WeakMap<Tx, number>()
  const own = new Set<string>()

  function hasMoved(tx: Tx, landed: Landed): boolean {
    const reported = deployed.get(tx)
    return reported !== undefined && reported !== landed.nonce
  }

  return {
    async find(hash) {
      if (!isHash(hash)) return undefined
      try {
        return await sender.get({ hash })
      } catch (error) {
        if (own.has(hash)) throw error
        return undefined
      }
    },
    onResponse(tx, response) {
      own.add(response.hash)
      if (own.size > OWN_MAX) own.delete(own.values().next().value as string)
      if (response.to === null) deployed.set(tx, response.nonce)
    },
    async now(tx) {
      if (!SEALED.has(tx.stage)) return undefined
      try {
        const landed = await tx.wait('sealed', { timeoutMs: NOW_MS })
        // The contract is at another address than expected, so this hash has no receipt; waiting callers get
        // an error.
        return hasMoved(tx, landed) ? undefined : (landed.receipt as SealedReceipt)
      } catch (error) {
        if (isTxlaneError(error) && error.code === 'WAIT_TIMEOUT') return undefined
        throw endError(error)
      }
    },
    async await(tx, signal, receiptOf) {
      try {
        const landed = await tx.wait('sealed', { signal })
        const receipt = receiptOf(landed.receipt as SealedReceipt)
        return hasMoved(tx, landed) ? { error: movedError(landed.hash, receipt) } : { receipt }
      } catch (error) {
        signal.throwIfAborted()
        return { error: endError(error) }
      }
    },
  }
}

const SEALED: ReadonlySet<string> = new Set(['sealed', 'safe', 'finalized'])

/** Listeners for hashes. The lane calls those for its own transactions, the provider calls the others. */
type Followers = {
  on(hash: string, listener: Listener, once: boolean): void
  /** Without a listener: removes all listeners of the hash. */
  off(hash: string, listener?: Listener): void
}

type Follower = {
  readonly hash: string
  readonly listener: Listener
  readonly once: boolean
  readonly stopping: AbortController
}

/**
 * ethers' `wait` uses these listeners, and has no channel for a transaction that ended without a receipt. It
 * reads the status of the receipt that it gets, and passes on errors thrown by that. So the end of a
 * transaction is reported as a receipt whose every field throws the reason.
 */
export function createFollowers(parts: {
  readonly provider: Provider
  readonly landings: Landings
  readonly receiptOf: (receipt: SealedReceipt) => TransactionReceipt
  /** The provider that listeners see. */
  readonly view: () => Provider
}): Followers {
  const { provider, landings, receiptOf } = parts
  const followers = new Map<string, Set<Follower>>()

  async function follow(follower: Follower): Promise<void> {
    let tx: Tx | undefined
    try {
      tx = await landings.find(follower.hash)
    } catch (error) {
      return end(follower, error)
    }
    if (follower.stopping.signal.aborted) return
    if (tx === undefined) {
      // Not the lane's transaction: ethers calls the listener as usual.
      const { hash, listener, once } = follower
      const { signal } = follower.stopping
      await (once ? provider.once(hash, listener) : provider.on(hash, listener))
      const stop = () => void provider.off(hash, listener)
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      return
    }
    if (await report(follower, tx)) again(follower, tx)
  }

  /**
   * Returns true if the listener needs further calls: `wait` counts confirmations by a call for each block.
   */
  async function report(follower: Follower, tx: Tx): Promise<boolean> {
    const { signal } = follower.stopping
    const landing = await landings.await(tx, signal, receiptOf)
    if (signal.aborted) return false
    if ('error' in landing) await end(follower, landing.error)
    else {
      if (follower.once) drop(follower)
      await call(follower, landing.receipt)
    }
    return !signal.aborted
  }

  async function end(follower: Follower, error: unknown): Promise<void> {
    if (follower.stopping.signal.aborted) return
    drop(follower)
    // A listener without a parameter would take the call for a success.
    if (follower.listener.length > 0) await call(follower, ended(error))
  }

  function again(follower: Follower, tx: Tx): void {
    const { signal } = follower.stopping
    const next = () => void report(follower, tx).catch(() => {})
    signal.addEventListener('abort', () => void provider.off('block', next), { once: true })
    void provider.on('block', next)
  }

  /** Calls a listener as ethers does: its errors are its own. */
  async function call({ hash, listener, once }: Follower, receipt: unknown): Promise<void> {
    const view = parts.view()
    try {
      await listener.call(view, receipt, new EventPayload(view as never, once ? null : listener, hash))
    } catch {}
  }

  function drop(follower: Follower): void {
    follower.stopping.abort()
    const others = followers.get(follower.hash)
    others?.delete(follower)
    if (others?.size === 0) followers.delete(follower.hash)
  }

  return {
    on(hash, listener, once) {
      const follower: Follower = { hash, listener, once, stopping: new AbortController() }
      followers.set(hash, (followers.get(hash) ?? new Set()).add(follower))
      // The follower ends with the listener's own `off`.
      follow(follower).catch(() => {})
    },
    off(hash, listener) {
      for (const follower of [...(followers.get(hash) ?? [])])
        if (listener === undefined || follower.listener === listener) drop(follower)
    },
  }
}

function ended(error: unknown): object {
  return new Proxy(
    {},
    {
      get(_, name) {
        if (name === 'confirmations') return async () => Number.POSITIVE_INFINITY
        throw error
      },
    },
  )
}
