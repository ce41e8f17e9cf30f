import { performance } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'
import { nativeAccount } from '../../src/signer/index.js'
import { createPlainRpc } from '../../test/demo/plainRpc.js'
import { pause } from '../../test/support/pause.js'
import { postBatch, signerOf } from './bare.js'
import type { Driver, Subject } from './types.js'

// geth silently truncates an account once the pool holds 5,120 executable transactions.
const ABOVE_LATEST_MAX = 4_000
const LOOK_MS = 20
/** Signing time between two yields, so that other work of the process gets its turns. */
const TURN_MS = 2

/**
 * A loop that respects geth's limits: native signing, batches in order, one at a time, and at most 4,000
 * above the `latest` count. It has no bookkeeping: lost transactions stay lost.
 */
function carefulLoop(batch: number): Subject {
  return {
    name: `careful loop, batches of ${batch}`,
    given: 'gasAndFees',
    open(world): Driver {
      const rpc = createPlainRpc(world.url)
      const { address } = nativeAccount(world.privateKey)
      const sign = signerOf(world)
      const signBatch = (first: number, last: number) =>
        Promise.all(Array.from({ length: last - first + 1 }, (_, index) => sign(first + index)))
      async function signInTurns(first: number, last: number) {
        const raws: Awaited<ReturnType<typeof sign>>[] = []
        for (let [number, begunAtMs] = [first, performance.now()]; number <= last; number++) {
          raws.push(await sign(number))
          if (performance.now() - begunAtMs < TURN_MS) continue
          await turn()
          begunAtMs = performance.now()
        }
        return raws
      }
      /** Waits until the pool has room up to this transfer. */
      async function roomFor(last: number, known: number): Promise<number> {
        let count = known
        while (last - count > ABOVE_LATEST_MAX) {
          count = Number(await rpc.call('eth_getTransactionCount', address, 'latest'))
          if (last - count > ABOVE_LATEST_MAX) await pause(LOOK_MS)
        }
        return count
      }
      async function burst(total: number, signAll: typeof signBatch) {
        let count = 0
        for (let first = 1; first <= total; first += batch) {
          const last = Math.min(total, first + batch - 1)
          const raws = await signAll(first, last)
          count = await roomFor(last, count)
          await postBatch(world.url, 'eth_sendRawTransaction', raws)
        }
      }
      return {
        burst: (total) => burst(total, signBatch),
        burstInParts: (total) => burst(total, signInTurns),
        close: async () => undefined,
      }
    },
  }
}

/** The reference for delivery: a loop of forty lines. */
export const careful = carefulLoop(100)
/** Larger batches suit a long round trip. geth accepts 1,000 calls per batch. */
export const CAREFUL: readonly Subject[] = [careful, ...[250, 500, 1_000].map(carefulLoop)]
