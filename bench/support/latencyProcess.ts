import { performance } from 'node:perf_hooks'
import type { Hex, LocalAccount } from 'viem'
import { pause } from '../../test/support/pause.js'
import { ONE_BY_ONE, type Opened, viemOneByOne } from '../subjects/oneByOne.js'
import { obeyOrders } from './children.js'
import { CHAIN_ID, givenTransfer } from './node.js'
import { type SendWatch, watchSends } from './sendWatch.js'

// One subject in a separate process: node latencyProcess.ts PLACE-IN-ONE-BY-ONE URL PRIVATE-KEY. Its sender
// stays open.

export type Order = {
  readonly count: number
  /** Idle time before each send. */
  readonly idleMs: number
}
export type Sample = {
  /**
   * Time from the call until the bytes are handed to the HTTP client, and until they are written to a socket.
   */
  readonly sendingMs: number
  readonly writingMs: number
  readonly signingMs: number
}

const [, , place, url, privateKey] = process.argv as unknown as [string, string, number, string, Hex]
let number = 0

async function start(): Promise<Started> {
  const subject = ONE_BY_ONE[place]
  if (subject === undefined) throw new Error('there is no such subject')
  const account = subject.account(privateKey)
  const opened = await subject.open(url, privateKey, account)
  // Started late: the dispatcher exists only after a first fetch.
  return { account, opened, watch: watchSends({ byFetch: subject === viemOneByOne }) }
}

type Started = { readonly account: LocalAccount; readonly opened: Opened; readonly watch: SendWatch }

async function sendOneByOne(
  { opened: { send }, account, watch }: Started,
  { count, idleMs }: Order,
): Promise<readonly Sample[]> {
  const samples: Sample[] = []
  for (let left = count; left > 0; left--) {
    if (idleMs > 0) await pause(idleMs)
    number++
    const signingMs = await timeSigning(account)
    const begun = performance.now()
    watch.forget()
    await send(number)
    const [sendingMs, writingMs] = [watch.handedAt() - begun, watch.writtenAt() - begun]
    samples.push({ sendingMs, writingMs, signingMs })
  }
  return samples
}

async function timeSigning(account: LocalAccount): Promise<number> {
  const begun = performance.now()
  await account.signTransaction({
    type: 'eip1559',
    chainId: CHAIN_ID,
    nonce: number - 1,
    ...givenTransfer(number),
  })
  return performance.now() - begun
}

const started = start()
obeyOrders({
  start: started.then(() => undefined),
  async obey(order: Order) {
    return sendOneByOne(await started, order)
  },
  end: async () => (await started).opened.close(),
})
