import { equal } from './check.js'
import { transactionIn } from './samples.js'
import { type Case, eventually, sleep, type World } from './world.js'

// Longer than a store's polling interval, so that an unwanted hint would arrive.
const QUIET_MS = 200

export const watch: readonly Case[] = [
  hints('an enqueue', async ({ other, lane }) => {
    await other.enqueue([transactionIn(lane, 'new')])
  }),
  hints('a command', async ({ other, lane }) => {
    await other.postCommand(lane, 'a', { kind: 'cancel' })
  }),
  hints('a write', async ({ other, lane, take }) => {
    const lease = await take()
    const transactions = [transactionIn(lane, 'a', { stage: 'signed' })]
    await other.write(lease, { slots: [], transactions, cursor: 1 })
  }),
  hints('a release', async ({ other, take }) => {
    await other.release(await take())
  }),
  {
    name: 'watching: each of several watchers is called, and a removed one is not',
    async run({ store, other, lane, keep }) {
      const calls = [0, 0, 0]
      const offs = calls.map((_, index) =>
        store.watch(lane, () => {
          calls[index] = (calls[index] ?? 0) + 1
        }),
      )
      offs[2]?.()
      offs[2]?.()
      await keep('a')
      await other.enqueue([transactionIn(lane, 'b')])
      await eventually(() => calls[0] !== 0 && calls[1] !== 0, 'a watcher got no hint')
      for (const off of offs) off()
      const before = [...calls]
      await other.enqueue([transactionIn(lane, 'c')])
      await sleep(QUIET_MS)
      equal(calls, before, 'a removed watcher was called')
      equal(calls[2], 0, 'a watcher that was removed at once was called')
    },
  },
  {
    name: 'watching: the change is readable when its hint comes',
    async run({ store, other, lane }) {
      let most = 0
      const off = store.watch(lane, () => {
        void store.arrivals(lane, 0, 10).then(({ transactions }) => {
          most = Math.max(most, transactions.length)
        })
      })
      await other.enqueue([transactionIn(lane, 'a')])
      // A hint may come without a change, for example when a store begins to listen. For this change one must
      // come.
      await eventually(() => most === 1, 'the arrival could not be read at any hint')
      off()
    },
  },
]

function hints(what: string, happens: (world: World) => Promise<void>): Case {
  return {
    name: `watching: a hint comes after ${what}`,
    async run(world) {
      const { store, lane, keep } = world
      await keep('a')
      let calls = 0
      const off = store.watch(lane, () => {
        calls++
      })
      await sleep(QUIET_MS)
      const before = calls
      await happens(world)
      await eventually(() => calls > before, `no hint came after ${what}`)
      off()
    },
  }
}
