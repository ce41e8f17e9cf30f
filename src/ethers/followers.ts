import { EventPayload, type Listener, type Provider, type TransactionReceipt } from 'ethers'
import type { Tx } from '../types/index.js'
import type { Landings, SealedReceipt } from './landings.js'

/** Listeners for hashes: those of the lane's transactions hear from the lane, the others from the provider. */
export type Followers = {
  on(hash: string, listener: Listener, once: boolean): void
  /** Without a listener: all of that hash. */
  off(hash: string, listener?: Listener): void
}

type Follower = {
  readonly hash: string
  readonly listener: Listener
  readonly once: boolean
  readonly stopping: AbortController
}

/**
 * ethers' `wait` hangs on these listeners, and knows no way to be told that a transaction has ended. It looks at the
 * status of the receipt it is given, and hands on what that throws: so one that ended is told as a receipt whose every
 * field throws the reason.
 */
export function createFollowers(parts: {
  readonly provider: Provider
  readonly landings: Landings
  readonly receiptOf: (receipt: SealedReceipt) => TransactionReceipt
  /** What listeners know as the provider. */
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
      // Not the lane's: ethers calls the listener as it would have.
      const { hash, listener, once } = follower
      const { signal } = follower.stopping
      await (once ? provider.once(hash, listener) : provider.on(hash, listener))
      const stop = () => void provider.off(hash, listener)
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      return
    }
    if (await tell(follower, tx)) again(follower, tx)
  }

  /** Whether the listener is to hear more: `wait` counts confirmations by being told again with each block. */
  async function tell(follower: Follower, tx: Tx): Promise<boolean> {
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
    // Who takes no receipt would take it for a success.
    if (follower.listener.length > 0) await call(follower, ended(error))
  }

  function again(follower: Follower, tx: Tx): void {
    const { signal } = follower.stopping
    const next = () => void tell(follower, tx).catch(() => {})
    signal.addEventListener('abort', () => void provider.off('block', next), { once: true })
    void provider.on('block', next)
  }

  /** As ethers calls listeners: what they throw is theirs. */
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
      // It ends with the listener's own `off`.
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
