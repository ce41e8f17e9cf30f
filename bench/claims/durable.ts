import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import type { Hex, LocalAccount } from 'viem'
import { memoryStore, type Sender, type Store } from '../../src/index.js'
import { nativeAccount } from '../../src/signer/index.js'
import { postgresStore } from '../../src/store/postgres/index.js'
import { sqliteStore } from '../../src/store/sqlite/index.js'
import { startPostgres } from '../../test/support/postgres.js'
import { atLeast, type Claim, type Context, medianOf, ratioOf } from '../claim.js'
import { openSender } from '../subjects/txlane.js'
import { burstWith } from '../support/durableBurst.js'
import {
  CHAIN_ID,
  chainOf,
  freshAccount,
  givenTransfer,
  type Node,
  requireOnce,
  startNode,
} from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'
import { startTwo } from '../support/twoProcesses.js'

type Opening = { readonly name: string; open(place: { folder: string; connectionString: string }): Store }
type Burst = { readonly perSecond: number; readonly cpuMs: number }

const MEMORY = 'memory'
const NORMAL = 'SQLite, synchronous NORMAL'
const TWO = 'PostgreSQL, two processes'
const RATE = 'accepted'
const CPU = 'CPU time for each'

let files = 0
const fileIn = (folder: string) => join(folder, `${++files}.db`)

const STORES: readonly Opening[] = [
  { name: MEMORY, open: () => memoryStore() },
  { name: NORMAL, open: ({ folder }) => sqliteStore({ path: fileIn(folder), synchronous: 'NORMAL' }) },
  {
    name: 'SQLite, synchronous FULL',
    open: ({ folder }) => sqliteStore({ path: fileIn(folder), synchronous: 'FULL' }),
  },
  {
    name: 'PostgreSQL, one process',
    open: ({ connectionString }) => postgresStore({ connectionString }),
  },
]

export const claim: Claim = {
  says: 'A burst that is persisted before it is sent keeps most of its speed.',
  transactions: 5_000,
  async run(context) {
    const folder = mkdtempSync(join(tmpdir(), 'txlane-bench-'))
    try {
      await using server = await startPostgres()
      await using node = await startNode()
      const { connectionString } = server
      const place = { folder, connectionString }
      const subjects = [
        ...STORES.map(({ name, open }) => ({
          name,
          run: (words: string) => oneProcess(node, () => open(place), words, context),
        })),
        { name: TWO, run: (words: string) => twoProcesses(node, connectionString, words, context) },
      ]
      const { values, failures } = await takeTurns<(typeof subjects)[number], Burst>({
        subjects,
        rounds: context.rounds,
        run: ({ name, run }, { round }) => run(`durable ${name} ${round}`),
        show: ({ perSecond, cpuMs }) =>
          `${Math.round(perSecond)} accepted a second, ${cpuMs.toFixed(2)} ms of CPU each`,
        say: context.say,
      })
      const of = (what: keyof Burst) =>
        [...values].map(([name, bursts]) => [name, bursts.map((one) => one[what])] as const)
      const figures = [
        ...figuresOf({ measure: RATE, unit: 'a second' }, of('perSecond')),
        ...figuresOf(
          { measure: CPU, unit: 'ms, of the process that measures' },
          of('cpuMs').filter(([name]) => name !== TWO),
        ),
      ]
      return {
        figures,
        checks: [
          atLeast(
            'of the memory store, SQLite with NORMAL',
            ratioOf(figures, RATE, NORMAL, { subject: MEMORY }),
            0.6,
          ),
          atLeast(
            'accepted a second, PostgreSQL, two processes, one key',
            medianOf(figures, RATE, TWO),
            1_000,
          ),
        ],
        notes: [
          `${context.transactions} transfers from one key, gas and fees given, signed ${context.presigned ? 'beforehand' : 'with nativeAccount'}; each found once in the blocks.`,
          'PostgreSQL and anvil run on the same machine. With two processes one owns the lane, and the other hands over its half through the database.',
          ...failures,
        ],
      }
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function oneProcess(
  node: Node,
  open: () => Store,
  words: string,
  { transactions, presigned: early }: Context,
): Promise<Burst> {
  const fresh = await freshAccount(node, words)
  const { privateKey } = fresh
  const account = nativeAccount(privateKey)
  const store = open()
  let sender: Sender | undefined
  try {
    sender = openSender(
      { url: node.url, chain: chainOf(node.url), privateKey },
      { store, account: early ? await presigned(account, transactions) : account },
    )
    await sender.ready()
    const [begun, cpu] = [performance.now(), process.cpuUsage()]
    await burstWith(sender, 1, transactions)
    const perSecond = (transactions * 1_000) / (performance.now() - begun)
    const { user, system } = process.cpuUsage(cpu)
    await requireOnce(node, fresh, transactions)
    return { perSecond, cpuMs: (user + system) / 1_000 / transactions }
  } finally {
    await sender?.close()
    await store.close()
  }
}

/** Transfers that each of the two processes sends as a warm-up. */
const TWO_WARM_UP = 1_000

/** One key; each process sends half of the burst. */
async function twoProcesses(
  node: Node,
  connectionString: string,
  words: string,
  { transactions }: Context,
): Promise<Burst> {
  const fresh = await freshAccount(node, words)
  const half = Math.max(1, transactions >> 1)
  await using two = await startTwo({ url: node.url, privateKey: fresh.privateKey, connectionString })
  // The processes are new in each round, so they lack the code that V8 compiled in earlier rounds.
  const warmUp = Math.min(half, TWO_WARM_UP)
  await two.burst(1, warmUp)
  const begun = performance.now()
  await two.burst(1 + 2 * warmUp, half)
  const perSecond = (half * 2 * 1_000) / (performance.now() - begun)
  await requireOnce(node, fresh, 2 * (warmUp + half))
  return { perSecond, cpuMs: 0 }
}

/**
 * An account with all transactions of the burst signed in advance: in such a burst the transfer number and
 * the nonce advance together. Other transactions are signed on request.
 */
export async function presigned(account: LocalAccount, count: number): Promise<LocalAccount> {
  const made = new Map<number, Hex>()
  for (let nonce = 0; nonce < count; nonce++) {
    const content = { type: 'eip1559', chainId: CHAIN_ID, nonce, ...givenTransfer(nonce + 1) } as const
    made.set(nonce, await account.signTransaction(content))
  }
  const signTransaction = async (asked: { nonce?: number; value?: bigint }) => {
    const nonce = asked.nonce ?? -1
    const known = asked.value === BigInt(nonce + 1) ? made.get(nonce) : undefined
    return known ?? account.signTransaction(asked as never)
  }
  const { signEnvelope: _, ...plain } = account as LocalAccount & { signEnvelope?: unknown }
  return { ...plain, signTransaction } as LocalAccount
}
