import { isTxlaneError, type Sender, type Tx, type TxRequest } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { pause } from '../../support/pause.js'
import { dataOf, replacementOf, targetOf } from '../../sweep/asks.js'
import type { Ask } from '../asks.js'
import { tell } from './tells.js'

/** Asks for things as a service does whose callers bring ids: again and again, until it is told what became of them. */
export type User = {
  ask(ask: Ask): void
  /** From now on answers stay away. */
  closing(): void
}

// Enough for a plain transfer with an id in its data.
const GAS = 40_000n
/** After an error that says nothing of the transaction: a store that is away, say. */
const AGAIN_MS = 250

export function createUser(senders: readonly Sender[]): User {
  let closing = false

  async function ask(asked: Ask): Promise<void> {
    const sender = senders[asked.account]
    if (sender === undefined) throw new Error(`There is no account ${asked.account}.`)
    const tx = await sent(sender, asked)
    if (tx === undefined) return
    const acting = act(sender, asked, tx)
    await follow(sender, asked.id, tx)
    await acting
    if (!closing) tell({ tell: 'answered', id: asked.id })
  }

  async function sent(sender: Sender, { id, kind }: Ask): Promise<Tx | undefined> {
    // What is to be cancelled or replaced is so at once: a little later there would be nothing left to change.
    const until = kind === 'plain' ? 'accepted' : 'queued'
    while (!closing) {
      try {
        const tx = await sender.send(requestOf(id), { id, until })
        tell(
          until === 'queued' ? { tell: 'kept', id } : { tell: 'accepted', id, atMs: systemClock.wallNow() },
        )
        return tx
      } catch (error) {
        if (failed(id, error)) {
          if (!closing) tell({ tell: 'answered', id })
          return undefined
        }
        await pause(AGAIN_MS)
      }
    }
    return undefined
  }

  /** Until there is an answer. */
  async function follow(sender: Sender, id: string, first: Tx): Promise<void> {
    for (let tx: Tx | undefined = first; !closing; ) {
      try {
        if (tx !== undefined) {
          const { hash, nonce, status } = await tx.wait('sealed')
          return tell({ tell: 'sealed', id, hash, nonce, status: String(status) })
        }
      } catch (error) {
        if (failed(id, error) || closing) return
      }
      await pause(AGAIN_MS)
      tx = await known(sender, id)
    }
  }

  /** What the library has of an id, where it has anything. */
  async function known(sender: Sender, id: string): Promise<Tx | undefined> {
    return await sender.get(id).catch((error: unknown) => {
      failed(id, error)
      return undefined
    })
  }

  async function act(sender: Sender, { id, kind }: Ask, tx: Tx): Promise<void> {
    if (kind === 'cancel') await cancel(sender, id, tx)
    if (kind === 'replace') await replace(sender, id, tx)
  }

  async function cancel(sender: Sender, id: string, first: Tx): Promise<void> {
    for (let tx: Tx | undefined = first; !closing; ) {
      try {
        if (tx !== undefined) {
          const { result } = await tx.cancel()
          return tell({ tell: 'cancelled', id, result })
        }
      } catch (error) {
        if (failed(id, error)) return
      }
      await pause(AGAIN_MS)
      tx = await known(sender, id)
    }
  }

  /** The answer may be about either of the two: about the old one where it could not be replaced any more. */
  async function replace(sender: Sender, of: string, tx: Tx): Promise<void> {
    const id = replacementOf(of)
    let instead: Tx | undefined
    try {
      instead = await tx.replace(requestOf(id), { id, until: 'queued' })
      tell({ tell: 'kept', id })
    } catch (error) {
      const about = isTxlaneError(error) ? error.tx?.id : undefined
      if (about !== undefined && failed(about, error) && about === id) return
      // An earlier life, or another process, may have got further.
      instead = await known(sender, id)
    }
    if (instead !== undefined) await follow(sender, id, instead)
  }

  /** Tells what an error says. True where it says what became of the transaction. */
  function failed(id: string, error: unknown): boolean {
    if (!isTxlaneError(error)) {
      tell({ tell: 'trouble', message: `${id}: ${String(error)}` })
      return false
    }
    const { code, fate, shortMessage: message } = error
    tell({ tell: 'failed', id, code, fate, message })
    return fate !== 'inFlight' && code !== 'STORE' && code !== 'CLOSED'
  }

  return {
    ask(asked) {
      void ask(asked).catch((error: unknown) => tell({ tell: 'trouble', message: `${asked.id}: ${error}` }))
    },
    closing() {
      closing = true
    },
  }
}

function requestOf(id: string): TxRequest {
  return { to: targetOf({ kind: 'plain' }), data: dataOf(id), value: 0n, gas: GAS } as TxRequest
}
