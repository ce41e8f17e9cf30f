import { createClient, http, type LocalAccount, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createSenderPool, type SenderPool, type Tx, type TxRequest } from '../../src/index.js'
import { memoryStore } from '../../src/store/memory.js'
import { findGeth, NO_GETH } from '../../test/nodes/find/geth.js'
import { startNodeProxy } from '../../test/support/nodeProxy.js'
import { atLeast, atMost, type Claim, medianOf, ratioOf } from '../claim.js'
import { type Geth, paidAccount, startGeth } from '../support/geth.js'
import { nextBlock } from '../support/landing.js'
import { chainOf, headOf } from '../support/node.js'
import { takeTurns } from '../support/rounds.js'
import { figuresOf } from '../support/spread.js'

const GROUPS = { name: 'txlane, groups' }
const NONE = { name: 'txlane, no groups' }
const SUBJECTS = [GROUPS, NONE]
const WAIT = 'blocks until one of another caller is sealed'
const WORST = 'blocks until the slowest of them is sealed'
const ALL = 'until all of the first caller are sealed'
const KEYS = 5
/** Gas limit of a block: 1,428 transfers. */
const GAS_LIMIT = 30_000_000
const ROUND_TRIP_MS = 20
const ONE_GWEI = 10n ** 9n

type Turn = { readonly waits: readonly number[]; readonly seconds: number }

export const claim: Claim = {
  says: 'Ten thousand transactions of one caller do not delay those of another.',
  transactions: 10_000,
  async run({ rounds, transactions: count, say }) {
    const file = await findGeth()
    if (file === undefined) return { leftOut: NO_GETH }
    const { values, failures } = await takeTurns({
      subjects: SUBJECTS,
      rounds,
      run: ({ name }, { round }) => turn(file, { name, count, words: `groups ${name} ${round}` }),
      show: ({ waits, seconds }) => `waits of ${waits.join(', ')} blocks; ${seconds.toFixed(1)} s in all`,
      say,
    })
    const of = (measure: string, unit: string, value: (turn: Turn) => readonly number[]) =>
      figuresOf(
        { measure, unit },
        [...values].map(([name, turns]) => [name, turns.flatMap(value)] as const),
      )
    const figures = [
      ...of(WAIT, 'blocks', ({ waits }) => waits),
      ...of(WORST, 'blocks', ({ waits }) => [Math.max(...waits)]),
      ...of(ALL, 'seconds', ({ seconds }) => [seconds]),
    ]
    return {
      figures,
      checks: [
        atMost('blocks, the median wait of another caller', medianOf(figures, WAIT, GROUPS.name), 2),
        atMost('blocks, the longest of its waits', medianOf(figures, WORST, GROUPS.name), 3),
        atLeast(
          'of the rate of the first caller without groups',
          ratioOf(figures, ALL, NONE.name, { subject: GROUPS.name }),
          0.8,
        ),
      ],
      notes: [
        `A pool of ${KEYS} keys on geth --dev --dev.period 1 --dev.gaslimit ${GAS_LIMIT}, ${ROUND_TRIP_MS} ms away. One caller sends ${count} transfers at once; another one sends single transfers in sequence meanwhile.`,
        'A wait is counted in blocks from the call of send: 1 is the next block.',
        ...failures,
      ],
    }
  },
}

async function turn(
  file: string,
  { name, count, words }: { readonly name: string; readonly count: number; readonly words: string },
): Promise<Turn> {
  await using node = await startGeth(file, { gasLimit: GAS_LIMIT })
  await using proxy = await startNodeProxy(node.url, { roundTripMs: ROUND_TRIP_MS })
  const accounts: LocalAccount[] = []
  for (let key = 0; key < KEYS; key++) {
    const { privateKey } = await paidAccount(node, `${words} ${key}`)
    accounts.push(privateKeyToAccount(privateKey))
  }
  const client = createClient({ chain: chainOf(proxy.url, node.chain), transport: http(proxy.url) })
  await using pool = createSenderPool({ client, accounts, store: memoryStore() })
  await pool.ready()
  await nextBlock(node.rpc)
  const begunAtMs = performance.now()
  const isGrouped = name === GROUPS.name
  const many = Promise.all(
    Array.from({ length: count }, (_, index) =>
      sealed(pool, BigInt(index + 1), isGrouped ? 'many' : undefined),
    ),
  ).then(() => ({ seconds: (performance.now() - begunAtMs) / 1_000 }))
  const waits = await waitsBeside(node, many, () => sealed(pool, 1n, isGrouped ? 'one' : undefined))
  return { waits, ...(await many) }
}

async function sealed(pool: SenderPool, value: bigint, group: string | undefined): Promise<Tx> {
  const request: TxRequest = {
    to: numberToHex(value, { size: 20 }),
    value,
    gas: 21_000n,
    maxFeePerGas: 100n * ONE_GWEI,
    maxPriorityFeePerGas: ONE_GWEI,
  }
  const tx = await pool.send(request, { group })
  await tx.wait('sealed')
  return tx
}

/** Sends transactions one after the other until the large burst has ended. */
async function waitsBeside(node: Geth, many: Promise<unknown>, send: () => Promise<Tx>): Promise<number[]> {
  let isOver = false
  const over = () => {
    isOver = true
  }
  many.then(over, over)
  const waits: number[] = []
  while (!isOver) {
    const before = await headOf(node.rpc)
    const tx = await send()
    if (isOver && waits.length > 0) break
    const { block } = tx.toJSON()
    waits.push((block?.number ?? Number.NaN) - before)
  }
  return waits
}
