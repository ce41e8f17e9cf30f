import { live } from '../../ledger/slotWith.js'
import type { CounterPlace, LaneReport } from '../../types/laneReports.js'
import type { StoredTransaction } from '../../types/store.js'
import { equal, ok } from './check.js'
import { transactionIn } from './samples.js'
import { type Case, LONG_MS } from './world.js'

const STARVED: LaneReport = { holds: ['starved'], room: -3, load: 7, owedWei: 2n ** 70n }
const COUNTER: CounterPlace = {
  kind: 'entryPoint',
  contract: `0x${'e'.repeat(40)}`,
  slot: `0x${'5'.repeat(64)}`,
  account: `0x${'a'.repeat(40)}`,
  key: 2n ** 191n,
}
const FREE: LaneReport = { holds: [], room: 64, load: 0, owedWei: 0n }

export const reports: readonly Case[] = [
  {
    name: 'lanes with unfinished work are returned with the number of transactions, and whether they have an owner',
    async run({ store, other, lane, newLane, keep, take, write }) {
      equal(await store.unfinished(lane), [], 'the lanes of an unused chain')
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
      equal((await other.unfinished(lane)).length, 1, 'the number of lanes left after one lane has finished')
    },
  },
  {
    name: 'the last report of a lease owner is visible to all processes',
    async run({ store, other, lane, newLane, take }) {
      const lease = await take()
      const second = { ...lane, address: newLane().address }
      const unknown = { ...lane, address: newLane().address }
      const silent = await take(second)
      await store.report([{ lease, report: FREE }])
      await store.report([{ lease, report: STARVED }])
      for (const by of [store, other]) {
        const said = await by.reports([lane, unknown, second])
        equal(said.length, 2, 'the number of known lanes')
        equal(
          said.find(({ lane: { address } }) => address === lane.address),
          { lane, isHeld: true, report: STARVED },
          'the report of the lane',
        )
        equal(
          said.find(({ lane: { address } }) => address === second.address),
          { lane: second, isHeld: true, report: undefined },
          'the report of a lane whose owner has made none',
        )
      }
      await store.report([
        { lease, report: { holds: [] } },
        { lease: silent, report: STARVED },
      ])
      equal((await other.reports([lane]))[0]?.report, { holds: [] }, 'a report without the fields for pools')
      equal((await other.reports([second]))[0]?.report, STARVED, 'the second of two reports at once')
    },
  },
  {
    name: 'a counter in a contract is listed with its slots, its cursor and its owner, after the owner has gone too',
    async run({ store, other, lane, newLane, take, write, elapse }) {
      equal(await store.counters(lane), [], 'the counters of an unused chain')
      const account = await take({ ...lane, address: newLane().address })
      const lease = await take()
      const elsewhere = await take(newLane())
      await store.report([
        { lease: account, report: FREE },
        { lease, report: { holds: [], counter: COUNTER } },
        { lease: elsewhere, report: { holds: [], counter: COUNTER } },
      ])
      const one = { lane, counter: COUNTER, cursor: undefined, slots: [] }
      for (const by of [store, other]) {
        const [{ leaseMs = 0, ...rest } = {}, ...more] = await by.counters(lane)
        equal(rest, { ...one, holder: lease.holder }, 'a counter without records')
        ok(leaseMs > 0 && leaseMs <= LONG_MS, 'the lease of its owner does not end within its length')
        equal(more, [], 'the lanes of accounts and of other chains')
      }
      const slots = [6, 7].map((nonce) => live(nonce, 0))
      await write(lease, { slots, cursor: 8 })
      await store.release(lease)
      const left = { ...one, holder: undefined, leaseMs: undefined, cursor: 8, slots }
      equal(await other.counters(lane), [left], 'a counter that was given back')
      const next = await take()
      equal((await other.counters(lane))[0]?.holder, next.holder, 'its next owner, which has made no report')
      await store.renew(next.holder, 1)
      await elapse(20)
      equal(await other.counters(lane), [left], 'a counter whose lease has expired')
    },
  },
  {
    name: 'a call for no lanes returns no report',
    async run({ store }) {
      await store.report([])
      equal(await store.reports([]), [], 'the reports of no lane')
    },
  },
  {
    name: 'P7: a report ends with its epoch: there is none of the next owner yet',
    async run({ store, other, lane, newHolder, take }) {
      const lease = await take()
      await store.report([{ lease, report: STARVED }])
      await store.release(lease)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether a released lane has an owner')
      const next = await other.acquire(lane, newHolder(), LONG_MS)
      ok(next !== undefined, 'a released lane cannot be taken')
      equal(await store.reports([lane]), [{ lane, isHeld: true, report: undefined }], 'its report')
      await store.report([{ lease, report: STARVED }])
      equal((await other.reports([lane]))[0]?.report, undefined, 'the report of the former owner')
      await other.report([{ lease: next, report: FREE }])
      await store.report([{ lease: { ...next, holder: newHolder() }, report: STARVED }])
      equal((await store.reports([lane]))[0]?.report, FREE, 'the report of an unknown owner')
    },
  },
  {
    name: 'a lane whose lease has expired has no owner',
    async run({ store, other, lane, newHolder, elapse }) {
      await store.acquire(lane, newHolder(), 1)
      await elapse(20)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether it has an owner')
    },
  },
  {
    name: 'a lane whose lease ends further ahead than any lease lasts has no owner: its clock was set back since',
    stepped: true,
    async run({ other, lane, take, setBack }) {
      await take()
      await setBack(10 * LONG_MS)
      equal((await other.reports([lane]))[0]?.isHeld, false, 'whether it has an owner')
    },
  },
]
