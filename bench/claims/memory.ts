import type { Hex } from 'viem'
import { nativeAccount } from '../../src/signer/index.js'
import { runRetention } from '../../test/soak/retention/run.js'
import { atMost, type Claim, medianOf } from '../claim.js'
import { heapBytes } from '../support/heap.js'
import { openHoldingLane } from '../support/holdingLane.js'
import { givenTransfer } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const KEY: Hex = `0x${'44'.repeat(32)}`
const IN_FLIGHT_MAX = 10_000
const IN_FLIGHT = 'heap for each transaction in flight'
const HEAP = 'heap while one lane sends'
const OVERHEAD = 'through the library alone: stub signer, stub node'
const SUBJECT = 'txlane'
const KIB = 1_024
const MIB = KIB * KIB
/** Heap samples of the sampled run. The timed runs take none. */
const SAMPLES = 120
const TIMED_MAX = 20_000
const SHOWN_EACH = 12
/**
 * With 100,000, the second sixth ends before all the blocks exist that the lane looks back at, so its heap
 * still grows.
 */
const STEADY = 400_000

export const claim: Claim = {
  says: 'Memory depends on the transactions in flight, not on the number of sent ones.',
  transactions: STEADY,
  async run({ rounds, transactions, say }) {
    const inFlight = Math.min(IN_FLIGHT_MAX, transactions)
    const { values, failures } = await takeTurns({
      subjects: [{ name: SUBJECT }],
      rounds,
      run: () => bytesEach(inFlight),
      show: (bytes) => `${Math.round(bytes)} bytes for each in flight`,
      say,
    })
    const timed = await takeTurns({
      subjects: [{ name: SUBJECT }],
      rounds,
      run: async () => (await sendThrough(Math.min(TIMED_MAX, transactions), 0)).perSecond,
      show: (rate) => `${rate} a second through the library alone`,
      say,
    })
    let lines = 0
    const lane = await sendThrough(transactions, SAMPLES, (line) => {
      if (lines++ % SHOWN_EACH === 0) say(line)
    })
    const heap = lane.flatness.find(({ measured }) => measured === 'heapBytes')
    const sixth = (subject: string, bytes = 0) => [subject, [bytes / MIB]] as const
    const figures = [
      ...figuresOf(
        { measure: IN_FLIGHT, unit: 'KiB' },
        [...values].map(([name, all]) => [name, all.map((bytes) => bytes / KIB)] as const),
      ),
      ...figuresOf({ measure: HEAP, unit: 'MiB, after a full collection' }, [
        sixth('second sixth of the run', heap?.early),
        sixth('last sixth', heap?.late),
      ]),
      ...figuresOf({ measure: OVERHEAD, unit: 'transactions a second' }, timed.values),
    ]
    return {
      figures,
      checks: [
        atMost('KiB for each transaction in flight', medianOf(figures, IN_FLIGHT, SUBJECT), 4),
        atMost(
          'MiB of heap in the last sixth (the second sixth, a tenth and 6 MiB)',
          mebibytes(heap?.late),
          mebibytes(heap?.most) ?? 0,
        ),
      ],
      notes: [
        `${inFlight} transfers without calldata in flight, store and signed bytes included.`,
        `The heap while one lane sends ${lane.sent} transfers; for a million: npm run bench -- memory --transactions 1000000.`,
        ...failures,
        ...timed.failures,
      ],
    }
  },
}

function mebibytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MIB
}

/** @throws Error if a transaction was not executed exactly once */
async function sendThrough(
  transactions: number,
  samples: number,
  say: (line: string) => void = () => undefined,
) {
  const options = { transactions, store: 'memory', endedMax: 1_000, samples } as const
  const run = await runRetention(options, say, new AbortController().signal)
  if (run.once !== run.sent || run.sent !== transactions)
    throw new Error(`${run.once} of ${transactions} executed once`)
  return run
}

async function bytesEach(inFlight: number): Promise<number> {
  const { sender, take } = openHoldingLane(nativeAccount(KEY), inFlight * 2)
  await sender.ready()
  const before = await heapBytes()
  // The results of `send` are discarded, so that only the lane keeps the transactions.
  await Promise.all(
    Array.from({ length: inFlight }, async (_, index) => void (await sender.send(givenTransfer(index + 1)))),
  )
  take()
  const bytes = ((await heapBytes()) - before) / inFlight
  const { inFlight: still } = await sender.snapshot()
  await sender.close()
  if (still !== inFlight) throw new Error(`${still} transactions were in flight, not ${inFlight}`)
  return bytes
}
