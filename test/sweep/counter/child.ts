import { readFileSync, writeSync } from 'node:fs'
import { createClient, type Hex, http } from 'viem'
import { isTxlaneError } from '../../../src/errors/base.js'
import { createNonceAllocator, createSender, storageNonce } from '../../../src/index.js'
import { createAccounts } from '../../../tools/devnet/accounts.js'
import { pause } from '../../support/pause.js'
import { chainOf, openStore } from '../opening.js'
import { type CounterOrder, type CounterReport, NUMBERED, payloadOf } from './asks.js'

// One life of a process that assigns nonces of a contract, and carries the payloads of earlier lives and its
// own.

const POOL_MAX = 3
// The retry interval while another process assigns the nonces.
const TAKEN_MS = 50
const PAUSE_MS = 20

const order = JSON.parse(readFileSync(0, 'utf8')) as CounterOrder
const account = createAccounts(order.account + 1)[order.account]!
const client = createClient({ account, chain: chainOf(order), transport: http(order.url, { retryCount: 0 }) })
const store = await openStore(order.store, POOL_MAX)
const sender = createSender({ client, store, lossDepth: 'child' })
const nonces = createNonceAllocator({
  client,
  address: NUMBERED,
  source: storageNonce({ address: NUMBERED, slot: 0n }),
  store,
})
const ids = [...order.ids]

await untilOwner(() => nonces.ready())
report({ report: 'open' })
await carryAll()
for (let asked = 0; asked < order.asks; asked++) {
  await pause(PAUSE_MS)
  const payload = await untilOwner(commitNext)
  await carry(payload, 'first')
}
await untilExecuted()
await nonces.close()
await sender.close()
await store.close()
report({ report: 'done' })
process.exit(0)

/** Synchronous: a later kill cannot lose the line. */
function report(what: CounterReport): void {
  writeSync(1, `${JSON.stringify(what)}\n`)
}

async function untilOwner<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!isTxlaneError(error) || error.code !== 'LEASE_LOST') throw error
      await pause(TAKEN_MS)
    }
  }
}

async function commitNext(): Promise<Hex> {
  const reservation = await nonces.reserve()
  const id = ids.shift()!
  const payload = payloadOf(reservation.nonce, id)
  await reservation.commit({ payload })
  report({ report: 'committed', nonce: Number(reservation.nonce), id })
  return payload
}

/** One carrier for each payload and `time`, in every life of the process. */
function carry(payload: Hex, time: string) {
  const id = `${payload} ${time}`
  return sender.send({ to: NUMBERED, data: payload, gas: 120_000n }, { id })
}

/** Carries what earlier processes committed and may not have sent, lowest first. */
async function carryAll(): Promise<void> {
  const time = `${Date.now()} ${process.pid}`
  const carried = []
  for (const { payloads } of nonces.snapshot().outstanding)
    for (const payload of payloads) carried.push(await carry(payload, time))
  await Promise.all(carried.map((tx) => tx.wait('sealed', { throwOnRevert: false })))
}

async function untilExecuted(): Promise<void> {
  for (;;) {
    await untilOwner(() => nonces.resync())
    const { outstanding, holes } = nonces.snapshot()
    if (outstanding.length === 0 && holes.length === 0) return
    // Nothing above a hole can be executed.
    for (const _ of holes) await untilOwner(commitNext)
    await carryAll()
  }
}
