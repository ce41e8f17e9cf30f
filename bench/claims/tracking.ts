import type { Hex } from 'viem'
import { nativeAccount } from '../../src/signer/index.js'
import { count } from '../../test/support/nodeProxy.js'
import { pause } from '../../test/support/pause.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { openHoldingLane } from '../support/holdingLane.js'
import { givenTransfer } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const KEY: Hex = `0x${'43'.repeat(32)}`
const MEASURE = 'HTTP requests for each tick'
// Ten ticks at 200 ms, after the burst has ended.
const CALM_MS = 1_000
const WATCHED_MS = 2_000

const nameOf = (inFlight: number) => `${inFlight.toLocaleString('en')} in flight`

export const claim: Claim = {
  says: 'Watching costs the same for any number of transactions in flight.',
  transactions: 10_000,
  async run({ rounds, transactions, say }) {
    const sizes = [1, 100, 10_000].map((size) => Math.min(size, transactions))
    const subjects = [...new Set(sizes)].map((inFlight) => ({ name: nameOf(inFlight), inFlight }))
    const { values, failures } = await takeTurns({
      subjects,
      rounds,
      run: ({ inFlight }) => watch(inFlight),
      show: (requests) => `${requests.toFixed(2)} HTTP requests a tick`,
      say,
    })
    const figures = figuresOf({ measure: MEASURE, unit: 'requests' }, values)
    return {
      figures,
      checks: subjects.map(({ name }) =>
        atMost(`HTTP requests a tick, ${name}`, medianOf(figures, MEASURE, name), 1),
      ),
      notes: [
        'A node in the same process accepts every transaction and mines none. A tick is a request for the newest block; all requests of two seconds count, while a caller waits for the last transaction.',
        ...failures,
      ],
    }
  },
}

async function watch(inFlight: number): Promise<number> {
  const { sender, take } = openHoldingLane(nativeAccount(KEY), Math.max(64, inFlight * 2))
  await sender.ready()
  const sent = await Promise.all(
    Array.from({ length: inFlight }, (_, index) => sender.send(givenTransfer(index + 1))),
  )
  // A pending wait makes the lane poll at its full pace. The wait ends with the lane.
  sent
    .at(-1)
    ?.wait('sealed')
    .catch(() => undefined)
  await pause(CALM_MS)
  take()
  await pause(WATCHED_MS)
  const counted = count(take())
  const { inFlight: still } = await sender.snapshot()
  await sender.close()
  if (still !== inFlight) throw new Error(`${still} were in flight, not ${inFlight}`)
  const ticks = counted.requestsWith('eth_getBlockByNumber')
  if (ticks === 0) throw new Error('the lane did not poll')
  return counted.requests / ticks
}
