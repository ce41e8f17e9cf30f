import { type Address, padHex, toHex } from 'viem'
import { systemClock } from '../../src/platform/clock.js'
import type { Asked, Driver, Payment, PaymentFields, SenderAnswer, Sent } from './types.js'

/** Records the payments requested of a sender, and its answer to each. */
export type Asks = {
  readonly all: readonly Asked[]
  pay(driver: Driver, fields: PaymentFields): Asked
  payAgain(driver: Driver, asked: Asked): void
  /** Adds payments that were made before the sender existed. */
  made(payments: readonly Payment[]): void
}

export function createAsks(): Asks {
  const all: Asked[] = []

  function ask(driver: Driver, payment: Payment, item: number): Asked {
    let reported: SenderAnswer = { kind: 'nothing' }
    const sent = driver.send(payment, `item ${item}`).then(
      (handle) => {
        reported = { kind: 'accepted', hash: handle.hash }
        return handle
      },
      (error: unknown) => {
        reported = { kind: 'refused', why: firstLine(error), open: mayStillRun(error) }
        return undefined
      },
    )
    const ended = sent.then(async (handle) => {
      if (handle !== undefined) reported = await end(handle)
    })
    return { item, payment, sent, ended, reported: () => reported }
  }

  return {
    all,
    pay(driver, { by: _by, ...fields }) {
      const item = all.length + 1
      const base = fields.data === undefined ? { to: payee(item) } : {}
      const asked = ask(driver, { ...base, value: 1n, ...fields }, item)
      all.push(asked)
      return asked
    },
    payAgain(driver, { payment, item }) {
      const again = ask(driver, payment, item)
      const index = all.findIndex((one) => one.item === item)
      all[index] = again
    },
    made(payments) {
      for (const payment of payments) all.push(alreadyMade(payment, all.length + 1))
    },
  }
}

/** An address whose key does not exist. */
function payee(item: number): Address {
  return padHex(toHex(0xca_0000 + item), { size: 20 })
}

async function end(handle: Sent): Promise<SenderAnswer> {
  try {
    return { kind: 'landed', hash: (await handle.wait('sealed')).hash }
  } catch (error) {
    return { kind: 'gaveUp', why: firstLine(error) }
  }
}

function alreadyMade(payment: Payment, item: number): Asked {
  const reported: SenderAnswer = { kind: 'refused', why: 'sent by another process', open: true }
  return {
    item,
    payment,
    sent: Promise.resolve(undefined),
    ended: Promise.resolve(),
    reported: () => reported,
  }
}

/**
 * True only if the sender's error says so, because most errors say nothing about the outcome of the payment.
 */
function mayStillRun(error: unknown): boolean {
  const { fate } = error as { fate?: unknown }
  return fate === 'inFlight' || fate === 'executed'
}

function firstLine(error: unknown): string {
  const { shortMessage, message } = error as { shortMessage?: string; message?: string }
  return (shortMessage ?? message ?? String(error)).split('\n')[0]!.slice(0, 160)
}

/** True if a promise has settled once all due work has run. */
export async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const late = Symbol('late')
  const soon = new Promise((resolve) => systemClock.setTimer(() => resolve(late), 0))
  return (await Promise.race([promise.catch(() => undefined), soon])) !== late
}
