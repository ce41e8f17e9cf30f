import { isTxlaneError, type Sender, type Tx, type TxRequest } from '../../../src/index.js'
import { systemClock } from '../../../src/platform/clock.js'
import { pause } from '../../support/pause.js'
import { dataOf, replacementOf, targetOf } from '../../sweep/asks.js'
import type { Ask } from '../asks.js'
import { report } from './report.js'

/**
 * Requests transactions as a service does whose callers bring ids: again and again, until it knows the
 * outcome.
 */
export type User = {
  ask(ask: Ask): void
  /** Called when the sender begins to close: from then on answers are missing. */
  closing(): void
}

// Enough gas for a plain transfer with an id in its data.
const GAS = 40_000n
/** The delay after an error that says nothing about the transaction, such as an unreachable store. */
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
    if (!closing) report({ report: 'answered', id: asked.id })
  }

  async function sent(sender: Sender, { id, kind }: Ask): Promise<Tx | undefined> {
    // A transaction that is to be cancelled or replaced is changed at once; a little later it could no longer
    // be changed.
    const until = kind === 'plain' ? 'accepted' : 'queued'
    while (!closing) {
      try {
        const tx = await sender.send(requestOf(id), { id, until })
        report(
          until === 'queued'
            ? { report: 'kept', id }
            : { report: 'accepted', id, atMs: systemClock.wallNow() },
        )
        return tx
      } catch (error) {
        if (failed(id, error)) {
          if (!closing) report({ report: 'answered', id })
          return undefined
        }
        await pause(AGAIN_MS)
      }
    }
    return undefined
  }

  /** Waits until there is an answer. */
  async function follow(sender: Sender, id: string, first: Tx): Promise<void> {
    for (let tx: Tx | undefined = first; !closing; ) {
      try {
        if (tx !== undefined) {
          const { hash, nonce, status } = await tx.wait('sealed')
          return report({ report: 'sealed', id, hash, nonce, status: String(status) })
        }
      } catch (error) {
        if (failed(id, error) || closing) return
      }
      await pause(AGAIN_MS)
      tx = await known(sender, id)
    }
  }

  /** The transaction of an id, if the library knows it. */
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
          return report({ report: 'cancelled', id, result })
        }
      } catch (error) {
        if (failed(id, error)) return
      }
      await pause(AGAIN_MS)
      tx = await known(sender, id)
    }
  }

  /** The answer may concern either transaction: the old one if it could no longer be replaced. */
  async function replace(sender: Sender, of: string, tx: Tx): Promise<void> {
    const id = replacementOf(of)
    let instead: Tx | undefined
    try {
      instead = await tx.replace(requestOf(id), { id, until: 'queued' })
      report({ report: 'kept', id })
    } catch (error) {
      const about = isTxlaneError(error) ? error.tx?.id : undefined
      if (about !== undefined && failed(about, error) && about === id) return
      // An earlier life, or another process, may have progressed further.
      instead = await known(sender, id)
    }
    if (instead !== undefined) await follow(sender, id, instead)
  }

  /** Reports an error. True if the error gives the outcome of the transaction. */
  function failed(id: string, error: unknown): boolean {
    if (!isTxlaneError(error)) {
      report({ report: 'trouble', message: `${id}: ${String(error)}` })
      return false
    }
    const { code, fate, shortMessage: message } = error
    report({ report: 'failed', id, code, fate, message })
    return fate !== 'inFlight' && code !== 'STORE' && code !== 'CLOSED'
  }

  return {
    ask(asked) {
      void ask(asked).catch((error: unknown) =>
        report({ report: 'trouble', message: `${asked.id}: ${error}` }),
      )
    },
    closing() {
      closing = true
    },
  }
}

function requestOf(id: string): TxRequest {
  return { to: targetOf({ kind: 'plain' }), data: dataOf(id), value: 0n, gas: GAS } as TxRequest
}
