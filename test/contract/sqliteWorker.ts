import { hashIn, liveIn, transactionIn } from '../../src/store/contract/samples.js'
import { sqliteStore } from '../../src/store/sqlite/sqliteStore.js'
import type { LaneKey, Store } from '../../src/types/store.js'

// A child process that shares a database file with other processes. It prints the answers of its store.
export const LANE: LaneKey = { chainId: 31_337, genesisHash: `0x${'0a'.repeat(32)}`, address: '0xaa' }

const jobs: Record<string, (store: Store, name: string) => Promise<void>> = {
  /** Acquires the lane again and again, each time for one nonce. */
  async nonces(store, name) {
    for (let done = 0; done < 100; ) {
      const lease = await store.acquire(LANE, `${name}${done}`, 60_000)
      if (lease === undefined) continue
      const { cursor = 0 } = await store.load(lease)
      const slots = [liveIn(LANE, cursor, name, `${name}${done}`)]
      await store.write(lease, { slots, transactions: [], cursor: cursor + 1 })
      await store.release(lease)
      done++
      say({ nonce: cursor })
    }
  },
  /** Enqueues ids that the other processes enqueue too. */
  async ids(store) {
    for (let batch = 0; batch < 50; batch++) {
      const ids = Array.from({ length: 20 }, (_, index) => `t${batch}.${index}`)
      const kept = await store.enqueue(ids.map((id) => transactionIn(LANE, id)))
      for (const { fresh, transaction } of kept) if (fresh) say({ fresh: transaction.id })
    }
  },
  /** Writes until it is killed, or the disk is full. */
  async endless(store, name) {
    const lease = await store.acquire(LANE, name, 60_000)
    if (lease === undefined) throw new Error('The lane has another holder.')
    for (let nonce = 0; ; nonce++) {
      const id = `t${nonce}`
      const transactions = [transactionIn(LANE, id, { hash: hashIn(LANE, id), sequence: nonce + 1 })]
      try {
        await store.enqueue([transactionIn(LANE, id, { request: { data: `0x${'ab'.repeat(500)}` } })])
        await store.write(lease, { slots: [liveIn(LANE, nonce, id, id)], transactions, cursor: nonce + 1 })
      } catch (error) {
        const { slots } = await store.load(lease)
        const { code, details, message } = error as { code: string; details: string; message: string }
        return say({ code, details, message, slots: slots.length, nonce })
      }
      say({ nonce })
    }
  },
  /** Watches until there is a transaction. */
  async watch(store) {
    await new Promise<void>((resolve) => {
      const alive = setTimeout(() => {}, 60_000)
      const off = store.watch(LANE, () => {
        void store.arrivals(LANE, 0, 10).then(({ transactions }) => {
          say({ seen: transactions.length })
          if (transactions.length === 0) return
          clearTimeout(alive)
          off()
          resolve()
        })
      })
    })
  },
}

function say(what: object): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

const [job, path, name] = process.argv.slice(2)
if (job !== undefined && path !== undefined && name !== undefined) {
  const store = sqliteStore({ path, synchronous: 'NORMAL' })
  await jobs[job]?.(store, name)
  await store.close()
}
