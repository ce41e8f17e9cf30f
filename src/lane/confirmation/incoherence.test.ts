import { expect, test } from 'vitest'
import { openSeveral } from '../../api/sender/severalEndpoints.fixture.js'
import { transfer } from '../../api/sender/simLane.fixture.js'
import { createIncoherence } from './countSettling.js'

const FIRST = 7

function doubting() {
  const doubts: string[] = []
  const endpointPool = { reader: {}, doubtReader: (why: string) => void doubts.push(why) }
  const doubt = createIncoherence(endpointPool as unknown as Parameters<typeof createIncoherence>[0])
  const read = (pending: number | undefined, latest = FIRST) => doubt({ latest, pending })
  return { endpointPool, doubts, read }
}

test('doubts an endpoint once if it counts less at `pending` than at `latest` twice in a row', () => {
  const { doubts, read } = doubting()
  read(5)
  read(FIRST)
  read(5)
  expect(doubts).toEqual([])
  for (let times = 0; times < 5; times++) read(5)
  expect(doubts).toEqual(['the endpoint counts 5 nonces at `pending`, and 7 at `latest`'])
})

test('ignores a reading without `pending`, and starts over with another endpoint', () => {
  const { endpointPool, doubts, read } = doubting()
  for (const pending of [undefined, undefined, 5, undefined]) read(pending)
  expect(doubts).toEqual([])
  endpointPool.reader = {}
  read(5)
  expect(doubts).toEqual([])
  read(5)
  expect(doubts).toHaveLength(1)
})

/** Ends long after `coldStartMaxMs`. */
const FOR_MS = 60_000

test.each([
  ['pending', -1],
  ['pending', -3],
  ['pending', -7],
  ['latest', 1],
  ['latest', 3],
  ['latest', 1_000_000],
] as const)(
  'begins at the count of the other endpoint, before the wait is over, if one of two errs at `%s` by %i',
  async (tag, by) => {
    for (const at of [0, 1]) {
      await using several = await openSeveral(['both', 'both'], { nonce: FIRST, closed: true })
      const { lane, sender, endpoints } = several
      const startMs = lane.clock.now()
      const [endpoint] = endpoints.slice(at)
      if (endpoint)
        endpoint.script = ({ method, params }) =>
          method === 'eth_getTransactionCount' && params[1] === tag && lane.clock.now() < startMs + FOR_MS
            ? { ok: true, result: `0x${(FIRST + by).toString(16)}` }
            : undefined
      const tx = await lane.settle(sender.send(transfer(1), { until: 'queued' }), FOR_MS)
      await lane.settle(tx.wait('sealed'), FOR_MS)
      const nonces = endpoints.flatMap(({ raws }) => raws.map(({ nonce }) => nonce))
      expect([tag, at, [...new Set(nonces)], several.events('foreign')]).toEqual([tag, at, [FIRST], []])
    }
  },
)
