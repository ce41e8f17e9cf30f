import { performance } from 'node:perf_hooks'
import { createClient, http, toHex } from 'viem'
import { createNonceManager, jsonRpc } from 'viem/nonce'
import { createNonceAllocator, memoryStore } from '../../src/index.js'
import type { Claim } from '../claim.js'
import { CHAIN_ID, chainOf, type Fresh, freshAccount, startNode } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const AT_ONCE = 'nonces handed out, all asked for at once'
// For an account that never sent, viem's manager keeps handing out nonce 0 until it is used.
const FIRST_NONCE = 5
const IN_TURN = 'nonces handed out, one after the other'

type Taking = {
  /** Reserves the next nonce. */
  take(): Promise<number>
  close(): Promise<void>
}
type Subject = { readonly name: string; open(url: string, fresh: Fresh, count: number): Taking }
type Rates = { readonly atOnce: number; readonly inTurn: number }

const SUBJECTS: readonly Subject[] = [
  {
    name: 'txlane, createNonceAllocator',
    open(url, { address }, count) {
      const client = createClient({ chain: chainOf(url), transport: http(url) })
      // The benchmark reserves this many nonces without using one.
      const limits = { window: count * 4, windowMax: count * 4 }
      const allocator = createNonceAllocator({ client, address, store: memoryStore(), limits })
      return { take: async () => (await allocator.reserve()).nonce, close: () => allocator.close() }
    },
  },
  {
    name: 'viem, nonceManager.consume',
    open(url, { address }) {
      const client = createClient({ chain: chainOf(url), transport: http(url) })
      const manager = createNonceManager({ source: jsonRpc() })
      const take = () => manager.consume({ address, chainId: CHAIN_ID, client })
      return { take, close: async () => undefined }
    },
  },
]

export const claim: Claim = {
  says: 'Code that sends by itself gets its nonces from memory, and not from the node.',
  transactions: 1_000,
  async run({ rounds, transactions: count, say }) {
    await using node = await startNode()
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS,
      rounds,
      run: async ({ name, open }, { round }) => {
        const fresh = await freshAccount(node, `allocator ${name} ${round}`)
        await node.rpc.call('anvil_setNonce', fresh.address, toHex(FIRST_NONCE))
        return measure(open(node.url, fresh, count), count)
      },
      show: ({ atOnce, inTurn }) => `${Math.round(atOnce)} at once, ${Math.round(inTurn)} in turn, a second`,
      say,
    })
    const of = (what: keyof Rates) =>
      [...values].map(([name, rates]) => [name, rates.map((one) => one[what])] as const)
    return {
      figures: [
        ...figuresOf({ measure: AT_ONCE, unit: 'a second' }, of('atOnce')),
        ...figuresOf({ measure: IN_TURN, unit: 'a second' }, of('inTurn')),
      ],
      checks: [],
      notes: [
        `${count} nonces each way, distinct and without a gap; no transaction is sent. viem queries the node again for each nonce that is requested alone.`,
        ...failures,
      ],
    }
  },
}

async function measure({ take, close }: Taking, count: number): Promise<Rates> {
  try {
    // The first reservation reads the chain.
    const nonces = [await take()]
    const begunAtOnce = performance.now()
    nonces.push(...(await Promise.all(Array.from({ length: count }, take))))
    const begunInTurn = performance.now()
    for (let taken = 0; taken < count; taken++) nonces.push(await take())
    const ended = performance.now()
    const isWhole = nonces.toSorted((a, b) => a - b).every((nonce, index) => nonce === FIRST_NONCE + index)
    if (!isWhole) throw new Error('a nonce was handed out twice, or left out')
    const rate = (timeMs: number) => (count * 1_000) / timeMs
    return { atOnce: rate(begunInTurn - begunAtOnce), inTurn: rate(ended - begunInTurn) }
  } finally {
    await close()
  }
}
