import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openLane, refuses, TIMES_OUT, transfer } from '../../../../src/api/sender/simLane.fixture.js'
import type { Sender } from '../../../../src/index.js'
import type { RpcCall, RpcReply } from '../../../../src/rpc/port.js'
import type { TxRequest } from '../../../../src/types/index.js'
import { between, deriveRandom } from '../../../../test/sim/random.js'
import { runsOf } from '../../../../test/support/runsOf.js'
import type { Row } from '../file/rows.js'
import { sendRows } from './run.js'
import { TRUSTING } from './transfers.fixture.js'

const ROWS = 60

/** Rows without a gas limit, so that the node has to estimate their gas. */
function rowsOf(count: number): Row[] {
  return Array.from({ length: count }, (_, at) => {
    const { gas: _gas, ...request } = transfer(at + 1) as TxRequest & { gas?: bigint }
    return { line: at + 1, id: `row-${at + 1}`, to: '0x', amount: 1n, request } as unknown as Row
  })
}

test('pays lines in order despite failing estimates, and leaves out a line that fails permanently', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const random = deriveRandom(seed, 'answers')
      await using lane = await openLane({ lateMs: () => between(random, 0, 300), limits: { batchMax: 7 } })
      const bad = between(random, 1, ROWS)
      const marker = (call: RpcCall) =>
        Number.parseInt(String((call.params[0] as { to?: string }).to).slice(-8), 16)
      lane.script = (call): RpcReply | undefined => {
        if (call.method !== 'eth_estimateGas') return undefined
        if (marker(call) === bad) return refuses('execution reverted', 3)
        return random() < 0.1 ? TIMES_OUT : undefined
      }
      const run = sendRows(lane.sender as unknown as Sender, rowsOf(ROWS), {
        retryReverted: false,
        fresh: true,
        stopped: () => false,
        transfers: TRUSTING,
      })
      const results = await lane.settle(run.results)
      expect(results.map(({ status }) => status)).toEqual(
        results.map(({ row }) => (row.line === bad ? 'failed' : 'paid')),
      )
      const lines = Array.from({ length: ROWS }, (_, at) => at + 1)
      expect(lane.executed()).toEqual(lines.filter((line) => line !== bad))
    }),
    { numRuns: runsOf(6) },
  )
}, 60_000)
