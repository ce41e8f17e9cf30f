import type { LaneReport, StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { transactionIn } from './samples.js'
import { type Case, LONG_MS } from './world.js'

const STARVED: LaneReport = { holds: ['starved'], room: -3, load: 7, owedWei: 2n ** 70n }
const FREE: LaneReport = { holds: [], room: 64, load: 0, owedWei: 0n }

export const reports: readonly Case[] = [
  {
    name: 'lanes with unfinished work are named, with how much it is and whether anybody holds them',
    async run({ store, other, lane, newLane, keep, take, write }) {
      equal(await store.unfinished(lane), [], 'the lanes of a chain that nobody has used')
      const second = { ...lane, address: newLane().address }
      const third = { ...lane, address: newLane().address }
      const [a, b, c] = await keep('a', 'b', 'c')
      await store.enqueue([transactionIn(second, 'there'), transactionIn(newLane(), 'elsewhere')])
      const [d] = await store.enqueue([transactionIn(third, 'd')])
      const lease = await take()
      const at = (stage: StoredTransaction['stage'], one: StoredTransaction | undefined) =>
        ({ ...one, stage, nonce: 0 }) as StoredTransaction
      await write(lease, { transactions: [at('accepted', a), at('sealed', b)] })
      await write(await take(third), { transactions: [at('finalized', d?.transaction)] })
      for (const by of [store, other]) {
        const found = [...(await by.unfinished(lane))].sort((one) =>
          one.lane.address === lane.address ? -1 : 1,
        )
        equal(
          found,
          [
            { lane, transactions: 2, isHeld: true },
            { lane: second, transactions: 1, isHeld: false },
          ],
          'the unfinished lanes',
        )
      }
      await write(lease, { transactions: [at('failed', a), at('cancelled', c)] })
      equal((await other.unfinished(lane)).length, 1, 'how many are left once one lane has finished')
    },
  },
  {
    name: 'what a holder says of its lane is there for everybody, as it said it last',
    async run({ store, other, lane, newLane, take }) {
      const lease = await take()
      const second = { ...lane, address: newLane().address }
      const unknown = { ...lane, address: newLane().address }
      const silent = await take(second)
      await store.report([{ lease, report: FREE }])
      await store.report([{ lease, report: STARVED }])
      for (const by of [store, other]) {
        const said = await by.reports([lane, unknown, second])
        equal(said.length, 2, 'how many lanes are known')
        equal(
          said.find(({ lane: { address } }) => address === lane.address),
          { lane, isHeld: true, report: STARVED },
          'what is known of the lane',
        )
        equal(
          said.find(({ lane: { address } }) => address === second.address),
          { lane: second, isHeld: true, report: undefined },
          'what is known of a lane whose holder has said nothing',
        )
      }
      await store.report([
        { lease, report: { holds: [] } },
        { lease: silent, report: STARVED },
      ])
      equal((await other.reports([lane]))[0]?.report, { holds: [] }, 'a report without what belongs to pools')
      equal((await other.reports([second]))[0]?.report, STARVED, 'the second of two reports at once')
    },
  },
  {
    name: 'no report is asked for, and none is given',
    async run({ store }) {
      await store.report([])
      equal(await store.reports([]), [], 'what is known of no lane')
    },
  },
  {
    name: 'P7: what was said of a lane ends with the epoch: of the next holder nothing is known yet',
    async run({ store, other, lane, newHolder, take }) {
      const lease = await take()
      await store.report([{ lease, report: STARVED }])
      await store.release(lease)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether a lane that was given back is held')
      const next = await other.acquire(lane, newHolder(), LONG_MS)
      ok(next !== undefined, 'a lane that was given back cannot be taken')
      equal(await store.reports([lane]), [{ lane, isHeld: true, report: undefined }], 'what is known of it')
      await store.report([{ lease, report: STARVED }])
      equal((await other.reports([lane]))[0]?.report, undefined, 'what the former holder says of it')
      await other.report([{ lease: next, report: FREE }])
      await store.report([{ lease: { ...next, holder: newHolder() }, report: STARVED }])
      equal((await store.reports([lane]))[0]?.report, FREE, 'what a stranger says of it')
    },
  },
  {
    name: 'a lane whose lease has run out is not held',
    async run({ store, other, lane, newHolder, elapse }) {
      await store.acquire(lane, newHolder(), 1)
      await elapse(20)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether it is held')
    },
  },
  {
    name: 'a lane whose lease ends further ahead than any lasts is not held: its clock was set back since',
    stepped: true,
    async run({ other, lane, take, setBack }) {
      await take()
      await setBack(10 * LONG_MS)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether it is held')
    },
  },
]
